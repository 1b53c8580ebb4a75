from __future__ import annotations

from pathlib import Path

import pytest

from eikon_engine.browser.executable import find_browser
from eikon_engine.errors import BrowserMissingError

NOTHING = {"PATH": ""}


def test_a_named_browser_is_used(tmp_path: Path) -> None:
    """`--browser-path` takes precedence over the environment and over installed browsers."""
    named = _program(tmp_path / "mine" / "chrome", "Google Chrome 150.0.1.2")
    other = _program(tmp_path / "other" / "chrome")

    browser = find_browser(named, environ={"EIKON_BROWSER_PATH": str(other)}, root=tmp_path)

    assert (browser.path, browser.kind, browser.version) == (named, "chrome", "150.0.1.2")
    assert browser.source == "--browser-path"


def test_the_environment_takes_precedence_over_installed_browsers(tmp_path: Path) -> None:
    """EIKON_BROWSER_PATH is used although another browser is on PATH."""
    named = _program(tmp_path / "mine" / "chromium")
    _program(tmp_path / "bin" / "chromium-headless-shell")

    browser = find_browser(
        None, environ={"PATH": str(tmp_path / "bin"), "EIKON_BROWSER_PATH": str(named)}, root=tmp_path
    )

    assert (browser.path, browser.kind, browser.source) == (named, "chromium", "EIKON_BROWSER_PATH")


def test_a_named_browser_is_never_replaced(tmp_path: Path) -> None:
    """A path without a file is an error, even if another browser is installed."""
    _program(tmp_path / "bin" / "chromium-headless-shell")

    with pytest.raises(BrowserMissingError, match=r"--browser-path: .*nowhere does not exist"):
        find_browser(tmp_path / "nowhere", environ={"PATH": str(tmp_path / "bin")}, root=tmp_path)


def test_a_named_file_must_be_executable(tmp_path: Path) -> None:
    """A file that is not executable is refused, and the message says so."""
    text = tmp_path / "notes.txt"
    text.write_text("no program", encoding="utf-8")

    with pytest.raises(BrowserMissingError, match="is not executable"):
        find_browser(text, environ=NOTHING, root=tmp_path)


def test_a_named_program_must_print_its_version(tmp_path: Path) -> None:
    """A program that fails with `--version` is refused with its output."""
    broken = _program(tmp_path / "chromium", "error while loading shared libraries: libnss3.so", status=127)

    with pytest.raises(BrowserMissingError, match=r"exited with status 127: .*libnss3\.so"):
        find_browser(broken, environ=NOTHING, root=tmp_path)


def test_headless_prefers_the_headless_shell(tmp_path: Path) -> None:
    """With both on PATH, a headless run uses the headless shell."""
    _program(tmp_path / "bin" / "chromium")
    shell = _program(tmp_path / "bin" / "chromium-headless-shell")

    browser = find_browser(None, environ={"PATH": str(tmp_path / "bin")}, root=tmp_path)

    assert (browser.path, browser.kind, browser.source) == (shell, "headless-shell", "PATH")


def test_headed_never_uses_the_headless_shell(tmp_path: Path) -> None:
    """A headed run uses a full browser, and none if there is only a headless shell."""
    _program(tmp_path / "bin" / "chromium-headless-shell")
    environ = {"PATH": str(tmp_path / "bin")}

    with pytest.raises(BrowserMissingError, match="omit --headed"):
        find_browser(None, environ=environ, headless=False, root=tmp_path)
    full = _program(tmp_path / "bin" / "google-chrome")

    assert find_browser(None, environ=environ, headless=False, root=tmp_path).path == full


def test_system_folders_are_searched_without_path(tmp_path: Path) -> None:
    """A browser in its usual folder is found although PATH is empty."""
    shell = _program(tmp_path / "usr" / "lib" / "chromium" / "headless_shell")

    browser = find_browser(None, environ=NOTHING, root=tmp_path)

    assert (browser.path, browser.source) == (shell, "system")


def test_macos_applications_are_found(tmp_path: Path) -> None:
    """Chrome is found in /Applications, under the name it has there."""
    chrome = _program(
        tmp_path / "Applications" / "Google Chrome.app" / "Contents" / "MacOS" / "Google Chrome",
        "Google Chrome 150.0.1.2",
    )

    browser = find_browser(None, environ=NOTHING, headless=False, root=tmp_path)

    assert (browser.path, browser.kind) == (chrome, "chrome")


@pytest.mark.parametrize("folder", [".cache/ms-playwright", "Library/Caches/ms-playwright"])
@pytest.mark.parametrize(
    "file", ["chrome-linux/headless_shell", "chrome-headless-shell-mac-arm64/chrome-headless-shell"]
)
def test_playwrights_newest_complete_download_is_used(tmp_path: Path, folder: str, file: str) -> None:
    """Revisions are compared as numbers, and an incomplete download does not count."""
    registry = tmp_path / folder
    for revision, complete in (("999", True), ("1155", True), ("1200", False)):
        _download(registry / f"chromium_headless_shell-{revision}", file, complete=complete)

    browser = find_browser(None, environ={**NOTHING, "HOME": str(tmp_path)}, root=tmp_path)

    assert browser.path == registry / "chromium_headless_shell-1155" / file
    assert (browser.kind, browser.source) == ("headless-shell", "playwright")


def test_playwrights_folder_can_be_moved(tmp_path: Path) -> None:
    """PLAYWRIGHT_BROWSERS_PATH replaces the folder below HOME."""
    _download(tmp_path / ".cache" / "ms-playwright" / "chromium-2000", "chrome-linux64/chrome", complete=True)
    _download(tmp_path / "elsewhere" / "chromium-1000", "chrome-linux64/chrome", complete=True)
    environ = {**NOTHING, "HOME": str(tmp_path), "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path / "elsewhere")}

    browser = find_browser(None, environ=environ, headless=False, root=tmp_path)

    assert browser.path == tmp_path / "elsewhere" / "chromium-1000" / "chrome-linux64" / "chrome"


def test_a_browser_that_does_not_start_is_skipped(tmp_path: Path) -> None:
    """A broken candidate that was found by search gives way to the next one."""
    _program(tmp_path / "bin" / "chromium-headless-shell", "Chromium 156.0.8078.79", status=1)
    full = _program(tmp_path / "bin" / "chromium")

    browser = find_browser(None, environ={"PATH": str(tmp_path / "bin")}, root=tmp_path)

    assert browser.path == full


def test_the_error_for_a_missing_browser_names_the_remedy(tmp_path: Path) -> None:
    """One message names the searched places, the skipped candidates and the remedies."""
    broken = _program(tmp_path / "bin" / "chromium", "not a browser", status=1)

    with pytest.raises(BrowserMissingError) as raised:
        find_browser(None, environ={"PATH": str(tmp_path / "bin")}, root=tmp_path)

    message = raised.value.message
    assert "\n" not in message
    for part in (f"skipped: {broken}", "eikon doctor --install-browser", "--browser-path", "EIKON_BROWSER_PATH"):
        assert part in message


def _program(path: Path, says: str = "Chromium 156.0.8078.79", *, status: int = 0) -> Path:
    """Make a program that answers every call with a line and an exit status."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {status}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def _download(folder: Path, file: str, *, complete: bool) -> None:
    _program(folder / file)
    if complete:
        (folder / "INSTALLATION_COMPLETE").touch()
