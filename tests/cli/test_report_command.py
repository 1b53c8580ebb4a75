"""`eikon report` renders an outcome again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.accept import accept_command
from eikon_engine.cli.report import report_command
from eikon_engine.cli.shell import run_command
from tests.report.outcomes import make_outcome
from tests.suite.bundles import TRACES

if TYPE_CHECKING:
    from pathlib import Path

BEGINNINGS = {
    "text": "Eikon replay summary",
    "html": "<!doctype html>",
    "md": "## diverged",
    "junit": '<?xml version="1.0"',
    "github": "::error file=",
    "gitlab": "[",
}


def call(*arguments: str) -> int:
    """Run the command; return its exit status."""
    return run_command(report_command, arguments, "eikon report")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return the artifacts folder of a replay."""
    (tmp_path / "outcome.json").write_text(make_outcome(folder=tmp_path).model_dump_json())
    return tmp_path


@pytest.mark.parametrize("kind", list(BEGINNINGS))
def test_each_format_is_rendered(run: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    """From the folder or the file, to standard output or a file."""
    assert call(str(run), "--format", kind) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(BEGINNINGS[kind])

    assert call(str(run / "outcome.json"), "--format", kind, "--output", str(run / "made")) == 0
    assert (run / "made").read_text() == printed


def test_an_outcome_that_cannot_be_read_is_one_line(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A newer format, a damaged file, none at all."""
    for text in ('{"outcome_version": 99}', "{", None):
        if text is None:
            (run / "outcome.json").unlink()
        else:
            (run / "outcome.json").write_text(text)

        assert call(str(run)) == 65
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_run_and_the_bundle_of_an_acceptance_are_not_swapped(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The message has the command to use."""
    bundle = TRACES / "shop_failing"

    assert run_command(accept_command, [str(run), str(bundle)], "eikon accept") == 2
    assert f"expected BUNDLE OUTCOME, got them in the other order; use `eikon accept {bundle} {run}`" in (
        capsys.readouterr().err
    )


def test_a_page_in_another_folder_can_be_sent_alone(run: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """It has no link to a file that its reader does not have; beside the artifacts, it has."""
    (run / "events.jsonl").touch()
    elsewhere = tmp_path_factory.mktemp("mail") / "report.html"

    assert call(str(run), "--format", "html", "--output", str(elsewhere)) == 0
    assert call(str(run), "--format", "html", "--output", str(run / "report.html")) == 0

    links = {file: set(re.findall(r'href="([^"#]+)"', file.read_text())) for file in (elsewhere, run / "report.html")}
    assert links[elsewhere] == set()
    assert {"outcome.json", "events.jsonl"} <= links[run / "report.html"]
    assert "replay_summary.txt" not in (run / "report.html").read_text()
