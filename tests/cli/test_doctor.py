from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from eikon_engine.browser.executable import BrowserBinary
from eikon_engine.cli.doctor import Diagnosis, Extra, count_fonts, diagnose, doctor_command, list_extras, render_text
from eikon_engine.cli.shell import run_command
from eikon_engine.errors import BrowserMissingError
from eikon_engine.files.extras import install_command

BROWSER = BrowserBinary(path=Path("/bin/shell"), kind="headless-shell", version="156.0.1.2", source="PATH")
HEALTHY = Diagnosis(
    python="3.11.7",
    playwright="1.65.2",
    browser=BROWSER,
    browser_problem="",
    display_problem="",
    fonts=38,
    extras=(Extra(name="llm", missing=()),),
)
HEALTHY_TEXT = """\
Python       3.11.7
Playwright   1.65.2
Browser      /bin/shell
             headless-shell 156.0.1.2, from PATH
Fonts        38
Usable       yes"""


def test_a_healthy_machine_is_described_line_by_line() -> None:
    """The text lists what a replay needs and reports that one can run; optional parts are listed on request."""
    assert render_text(HEALTHY) == HEALTHY_TEXT
    assert "Extra llm    installed" in render_text(HEALTHY, shows_extras=True)


def test_missing_requirements_are_listed_with_advice() -> None:
    """The text says why there is no browser, and how to install an extra."""
    ill = replace(
        HEALTHY,
        browser=None,
        browser_problem="no browser: run something",
        fonts=None,
        extras=(Extra(name="fix", missing=("bm25s", "pathspec")),),
    )

    text = render_text(ill, shows_extras=True)

    assert "Browser      missing: no browser: run something" in text
    assert "Fonts        unknown (no fc-list)" in text
    assert f"not installed (missing: bm25s, pathspec): run `{install_command('fix')}`" in text
    assert text.endswith("Usable       no")


def test_a_missing_browser_is_a_finding() -> None:
    """Without a browser, the diagnosis contains the reason."""

    def find() -> BrowserBinary:
        raise BrowserMissingError("nothing here")

    diagnosis = diagnose(find, lambda _binary: None)

    assert (diagnosis.browser, diagnosis.browser_problem, diagnosis.usable) == (None, "nothing here", False)


def test_the_command_prints_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`eikon doctor --json` prints one object with the browser and exits with 0 when it can be used."""
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\necho 'Chromium 156.0.1.2 <p>started'\n", encoding="utf-8")
    program.chmod(0o755)

    status = run_command(doctor_command, ["--json", "--browser-path", str(program)], "eikon doctor")

    found = json.loads(capsys.readouterr().out)
    assert status == 0
    assert found["browser"] == {
        "path": str(program),
        "kind": "chromium",
        "version": "156.0.1.2",
        "source": "--browser-path",
    }


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo 'true (GNU coreutils) 9.1'", "is another program"),
        ("case $1 in --version) echo Chromium 156.0.1.2;; *) echo no libnss3 >&2; exit 127;; esac", "does not start"),
    ],
)
def test_another_program_is_told_from_a_broken_browser(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], script: str, expected: str
) -> None:
    """A program that is no browser has another finding than a browser that opens no page; neither can be used."""
    program = tmp_path / "chromium"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)

    status = run_command(doctor_command, ["--browser-path", str(program)], "eikon doctor")

    printed = capsys.readouterr().out
    assert status == 69
    assert expected in printed
    assert "Usable       no" in printed


def test_a_missing_display_is_a_finding_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With --headed, a browser that starts cannot be used without a display, and the text says so."""
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    program = tmp_path / "chromium"
    program.write_text("#!/bin/sh\necho 'Chromium 156.0.1.2 <p>started'\n", encoding="utf-8")
    program.chmod(0o755)

    status = run_command(doctor_command, ["--headed", "--browser-path", str(program)], "eikon doctor")

    printed = capsys.readouterr().out
    assert status == 69
    assert "Display      missing: neither DISPLAY nor WAYLAND_DISPLAY is set" in printed
    assert "does not start" not in printed


def test_the_command_exits_with_69_without_a_browser(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A named browser that does not exist is reported on stdout, with its exit status; nothing is installed."""
    arguments = ["--install-browser", "--browser-path", str(tmp_path / "nowhere")]

    status = run_command(doctor_command, arguments, "eikon doctor")

    assert status == 69
    printed = capsys.readouterr()
    assert "does not exist" in printed.out
    assert printed.err == ""


def test_fonts_are_unknown_without_fontconfig(tmp_path: Path) -> None:
    """Where fc-list is not on PATH the number of fonts is unknown, not zero."""
    assert count_fonts({"PATH": str(tmp_path)}) is None


def test_fonts_are_counted(tmp_path: Path) -> None:
    """Each line of fc-list is one font."""
    lister = tmp_path / "fc-list"
    lister.write_text("#!/bin/sh\necho a.ttf\necho b.ttf\n", encoding="utf-8")
    lister.chmod(0o755)

    assert count_fonts({"PATH": str(tmp_path)}) == 2


def test_extras_of_an_unknown_distribution_are_none() -> None:
    """A project that runs from source without being installed has no known extras."""
    assert list_extras("a-distribution-that-is-not-here") == ()


def test_extras_list_missing_distributions() -> None:
    """For an installed distribution, each extra lists its missing packages."""
    extras = {extra.name: extra for extra in list_extras("pydantic")}

    assert "email-validator" in extras["email"].missing
