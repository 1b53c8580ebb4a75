"""`eikon triage` groups the outcomes in folders."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.shell import run_command
from eikon_engine.cli.triage import triage_command
from eikon_engine.outcome.triage import Triage
from tests.triage.test_groups import NIGHT

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "<script>alert(1)</script>\x1b[31m| `x` \u202e" + "x" * 10_000
BEGINNINGS = {"text": "7 outcomes of 3 missions", "md": "### 7 outcomes of 3", "html": "<!doctype html>", "json": "{"}


def call(*arguments: str) -> int:
    """Run the command; return its exit status."""
    return run_command(triage_command, arguments, "eikon triage")


@pytest.fixture
def night(tmp_path: Path) -> Path:
    """Return a folder with the outcomes of a night."""
    for name, outcome in NIGHT.items():
        (tmp_path / "night" / name).mkdir(parents=True)
        (tmp_path / "night" / name / "outcome.json").write_text(outcome.model_dump_json())
    return tmp_path / "night"


@pytest.mark.parametrize("kind", list(BEGINNINGS))
def test_each_format_is_rendered(night: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    """From a folder, or from its files in any order; the same text each time."""
    assert call(str(night), "--format", kind) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(BEGINNINGS[kind])

    files = sorted(map(str, night.rglob("outcome.json")), reverse=True)
    assert call(*files, "--format", kind, "--output", str(night / "made")) == 0
    assert (night / "made").read_text() == printed
    if kind == "json":
        assert len(Triage.model_validate_json(printed).groups) == 3


def test_one_file_that_cannot_be_read_is_listed(night: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others are grouped."""
    (night / "a/1/outcome.json").write_text('{"outcome_version": 99}')

    assert call(str(night), "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["outcomes"] == 6
    assert [each["path"] for each in found["unreadable"]] == [str(night / "a/1/outcome.json")]
    assert "expected outcome_version 1, got 99" in found["unreadable"][0]["why"]


@pytest.mark.parametrize(("name", "status"), [("empty", 2), ("missing", 65), ("damaged", 65)])
def test_nothing_to_read_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, status: int
) -> None:
    """A folder without outcomes, a missing one, a damaged file."""
    if name == "empty":
        (tmp_path / name).mkdir()
    if name == "damaged":
        (tmp_path / name).write_text("{")

    assert call(str(tmp_path / name)) == status
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("kind", list(BEGINNINGS))
def test_hostile_texts_are_shown_harmless(night: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    """Neither markup nor control characters reach a page or a terminal."""
    outcome = NIGHT["a/1"]
    assert outcome.explanation is not None
    hostile = outcome.model_copy(
        update={
            "mission_id": HOSTILE,
            "browser": HOSTILE,
            "explanation": outcome.explanation.model_copy(update={"sentence": HOSTILE, "settle": HOSTILE}),
        }
    )
    (night / "a/1/outcome.json").write_text(hostile.model_dump_json())

    assert call(str(night), "--format", kind) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    if kind in {"md", "html"}:
        assert "<script" not in printed


def test_one_cause_is_shown_alone(night: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the numbers of the whole night; an unknown one is an error that names the known ones."""
    call(str(night), "--format", "json")
    ids = [each.id for each in Triage.model_validate_json(capsys.readouterr().out).groups]

    assert call(str(night), "--cause", ids[1]) == 0
    shown = capsys.readouterr().out
    assert call(str(night), "--cause", "none") == 2

    assert "failures have this cause" in shown.partition("\n")[0]
    assert shown.startswith("7 outcomes of 3 missions: ")
    assert [each in shown for each in ids] == [False, True, False]
    assert f"expected the id of a cause, got 'none'; the causes are {', '.join(ids)}" in capsys.readouterr().err


def test_runs_lead_to_their_reports(night: Path) -> None:
    """From a page that is written to a file, to the reports that exist."""
    (night / "a" / "1" / "report.html").touch()

    assert call(str(night), "--format", "html", "--output", str(night / "pages.html")) == 0

    assert re.findall(r'href="([^"#]+)"', (night / "pages.html").read_text()) == ["a/1/report.html"]
