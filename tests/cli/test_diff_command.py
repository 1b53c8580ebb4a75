"""`eikon diff` compares two bundles, two outcomes, or an outcome with its bundle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.diff import diff_command
from eikon_engine.cli.shell import run_command
from eikon_engine.outcome.divergence import Evidence
from tests.report.outcomes import make_outcome
from tests.triage.failures import make_divergence, make_failure

if TYPE_CHECKING:
    from eikon_engine.outcome.outcomes import ReplayOutcome

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT / "tests/data/traces"
PRICE = Evidence(kind="answer", title="GET http://a.test/api/items/1", text="body $.price: recorded 12, live 13")
HOSTILE = "<script>alert(1)</script>\x1b[31m\u202e"
KINDS = ("text", "html", "json")


def call(*arguments: str | Path) -> int:
    """Run the command; return its exit status."""
    return run_command(diff_command, [str(each) for each in arguments], "eikon diff")


def write(folder: Path, name: str, outcome: ReplayOutcome) -> Path:
    """Write an outcome into an artifacts folder of its own; return that."""
    (folder / name).mkdir()
    (folder / name / "outcome.json").write_text(outcome.model_dump_json())
    return folder / name


@pytest.mark.parametrize("kind", KINDS)
def test_equal_ones_have_no_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    """Whatever they are; the exit status says so."""
    run = write(tmp_path, "run", make_failure(PRICE))

    for path in (run, TRACES / "shop_passing"):
        assert call(path, path, "--format", kind) == 0
        printed = capsys.readouterr().out
        if kind == "json":
            assert json.loads(printed)["steps"] is not None
        else:
            assert "no differences" in printed.lower()


def test_two_outcomes_differ_in_steps_and_as_a_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The first difference comes first, with what was expected and observed."""
    other = make_divergence("target-missing", "target", "button 'Save'", HOSTILE, "The element is gone.")
    first = write(tmp_path, "first", make_failure(PRICE))
    second = write(tmp_path, "second", make_failure(PRICE, divergence=other).model_copy(update={"browser": "b 2"}))

    assert call(first, second) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"--- {first} (diverged, ")
    assert any(line.startswith("browser: ") and line.endswith(" -> b 2") for line in lines)
    shown = [line.strip() for line in lines if line.startswith("  ")]
    assert shown[0].startswith("- dom, dom-changed: ")
    assert shown[3:5] == ["+ target, target-missing: The element is gone.", "expected button 'Save'"]
    assert shown[5] == "observed <script>alert(1)</script>\\x1b[31m\\x202e"
    assert lines[-1] == "1 different step"

    assert call(first, second, "--format", "html", "--output", tmp_path / "page.html") == 1
    page = (tmp_path / "page.html").read_text()
    assert "Differences in 2 places" in page
    assert "<script" not in page
    assert "\x1b" not in page


def test_a_step_that_a_run_did_not_come_to_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is not performed."""
    whole = make_outcome()
    subgoal = whole.subgoals[0]
    short = whole.model_copy(update={"subgoals": (subgoal.model_copy(update={"steps": subgoal.steps[:1]}),)})

    assert call(write(tmp_path, "a", whole), write(tmp_path, "b", short), "--format", "json") == 1
    found = json.loads(capsys.readouterr().out)
    assert {each["second"]["result"] for each in found["steps"]} == {"not performed"}


def test_an_outcome_is_compared_with_its_bundle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In either order; one of another bundle is refused."""
    trace = json.loads((TRACES / "shop_failing/trace.json").read_text())
    subgoal = trace["subgoal_traces"][0]
    made = make_outcome()
    shown = made.subgoals[0].model_copy(update={"id": subgoal["id"]})
    own = made.model_copy(update={"trace_id": trace["id"], "subgoals": (shown,)})
    outcome = write(tmp_path, "own", own)
    other = write(tmp_path, "other", made)

    assert call(TRACES / "shop_failing", outcome) == 1
    forward = capsys.readouterr().out
    assert forward.startswith(f"--- {TRACES / 'shop_failing'} (recorded, ")
    assert call(outcome, TRACES / "shop_failing") == 1
    assert capsys.readouterr().out == forward

    assert any(line == "verdict: faithful -> diverged" for line in forward.splitlines())

    assert call(TRACES / "shop_failing", other) == 2
    assert "expected an outcome of the bundle" in capsys.readouterr().err


@pytest.mark.parametrize("kind", KINDS)
def test_two_bundles_differ_in_their_steps(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    """As in a unified diff, as a page, and as JSON."""
    assert call(TRACES / "shop_passing", TRACES / "shop_failing", "--format", kind) == 1
    printed = capsys.readouterr().out
    assert "redeem-voucher" in printed
    if kind == "text":
        assert "+   2 click #redeem-voucher  [target-missing]" in printed.splitlines()


@pytest.mark.parametrize("name", ["missing", "damaged"])
def test_what_cannot_be_read_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """With the exit status of a file that cannot be read."""
    path = tmp_path / name
    if name == "damaged":
        path.mkdir()
        (path / "outcome.json").write_text("{")

    assert call(path, TRACES / "shop_passing") == 65
    assert capsys.readouterr().err.count("\n") == 1
