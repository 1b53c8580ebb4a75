"""What a session does not say: that a way is faithful of which that cannot be known, or that nothing stopped it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.debug.branch_commands import describe_saved_trace
from eikon_engine.debug.commands import (
    BranchEdit,
    BranchInsert,
    BranchSave,
    BranchSkip,
    BranchSwitch,
    BreakpointAdd,
    BreakpointClear,
    BreakpointList,
    CheckpointCreate,
    Evaluate,
    Resume,
    Rewind,
    RunTo,
    Step,
)
from eikon_engine.debug.offline_commands import diff_branches, list_branches, list_checkpoints, show_timeline
from eikon_engine.errors import BreakpointError, OutputError, SessionError
from eikon_engine.outcome.certification import CertificationReport
from eikon_engine.record import open_recorder
from eikon_engine.replay.engine import run_replay
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.actions import Navigate, Note
from eikon_engine.trace.bundle import copy_bundle, open_bundle
from eikon_engine.trace.patch import apply_patch, read_patch
from tests.debug.in_process import driven
from tests.sites.static import serve_folder

if TYPE_CHECKING:
    from tests.debug.in_process import Driven

TABLE = "<!doctype html><title>Prices</title><table><tr><th>Name<th>Price<tr><td>Banana<td>3</table>"
OTHER = "<!doctype html><title>Other</title><p>Nothing to buy.</p>"


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record a mission of three steps: a page, a skill on it, another page."""
    folder = tmp_path_factory.mktemp("prices")
    asyncio.run(_record(folder))
    return folder / "bundle"


async def _record(folder: Path) -> None:
    site = folder / "site"
    site.mkdir()
    (site / "prices.html").write_text(TABLE)
    (site / "other.html").write_text(OTHER)
    with serve_folder(site) as url:
        recorder = open_recorder(folder / "bundle", mission_text="Read prices", mission_id="prices")
        async with recorder as mission, mission.subgoal("Read the table"):
            await mission.run(Navigate(url=f"{url}/prices.html"))
            await mission.skill("extract_table")
            await mission.run(Navigate(url=f"{url}/other.html"))


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a session said at one moment."""

    stand: Any
    branches: str
    checkpoints: str
    timeline: str


def seen(session: Driven, stand: Any) -> Seen:  # noqa: ANN401 - JSON, as tests take it apart
    """Ask for everything that shows a verdict."""
    folder = session.journey.folder
    return Seen(
        stand=stand,
        branches=list_branches(folder).text,
        checkpoints=list_checkpoints(folder).text,
        timeline=show_timeline(folder, "text", None).text,
    )


@dataclass(frozen=True, kw_only=True)
class Ways:
    """A session in which several ways were gone."""

    evaluated: Seen
    stopped: tuple[Any, ...]
    stepped: Any
    hits: tuple[int, ...]
    skipped_first: Seen
    again: Seen
    skipped_last: Seen
    saved: Any
    alone: dict[str, str]
    refused: tuple[str, ...]
    diff: str
    listed: Any
    changed: str


@pytest.fixture(scope="module")
def ways(prices: Path, tmp_path_factory: pytest.TempPathFactory) -> Ways:
    """Go several ways."""
    return asyncio.run(_go(prices, tmp_path_factory.mktemp("sessions")))


async def skill_in_replays(session: Driven, prices: Path, parent: Path) -> dict[str, str]:
    """Replay what there is of the branch without its session, and return what became of its skill, and the whole."""
    branch, patched = session.journey.folder.branches / "first", parent / "patched"
    patch = read_patch(parent / "first.json")
    copy_bundle(prices, apply_patch(open_bundle(prices).trace, patch), patched)
    found = {}
    for folder in (branch, patched, parent / "saved"):
        options = ReplayOptions(artifacts_dir=parent / f"run-{folder.name}", on_divergence="continue")
        run = await run_replay(open_bundle(folder), options, (), session.journey.pool.launched)
        (skill,) = (step for each in run.outcome.subgoals for step in each.steps if step.kind == "skill")
        found[folder.name] = f"{skill.verdict}, {run.outcome.verdict}"
    return found


async def _go(prices: Path, parent: Path) -> Ways:
    refused: list[str] = []
    async with driven(parent, prices) as session:
        do = session.do
        await do(Step())
        await do(Evaluate(expression="window.k = 7"))
        await do(CheckpointCreate(label="touched"))
        evaluated = seen(session, await do(Resume()))

        await do(Rewind(iteration=0, force=True))
        await do(BreakpointAdd(on="iteration", value=1))
        stopped = (await do(Resume()), await do(Step()))
        await do(Rewind(iteration=0, force=True))
        await do(BreakpointAdd(on="tool", value="navigate"))
        stepped = await do(Step())
        hits = tuple(each["hit_count"] for each in (await do(BreakpointList()))["breakpoints"])
        await do(BreakpointClear())

        await do(Rewind(iteration=0, force=True))
        await do(BranchSkip(name="first"))
        skipped_first = seen(session, await do(Resume()))
        await do(Rewind(iteration=1, force=True))
        again = seen(session, await do(Resume()))
        saved = await do(BranchSave(name="first", form="trace", output=str(parent / "saved")))
        await do(BranchSave(name="first", form="patch", output=str(parent / "first.json")))
        again_alone = await skill_in_replays(session, prices, parent)
        with pytest.raises(OutputError) as twice:
            await do(BranchSave(name="first", form="patch", output=str(parent / "first.json")))
        refused.append(twice.value.message)

        await do(BranchSwitch(name="main"))
        await do(Rewind(iteration=0, force=True))
        await do(RunTo(iteration=2))
        skipped_last = seen(session, await do(BranchSkip(name="last")))

        await do(BranchSwitch(name="main"))
        await do(Rewind(iteration=0, force=True))
        await do(BranchInsert(name="longer", action=Note(text="more")))
        await do(BreakpointAdd(on="iteration", value=4))
        with pytest.raises(BreakpointError) as beyond:
            await do(BreakpointAdd(on="iteration", value=5))
        refused.append(beyond.value.message)
        await do(BranchEdit(iteration=2, fields={"action.timeout_ms": 9000}))
        listed = await do(Resume())
        diff = diff_branches(session.journey.folder, "main", "longer").text

        trace = prices / "trace.json"
        before = trace.read_bytes()
        trace.write_bytes(before.replace(b"Read prices", b"Read other"))
        try:
            with pytest.raises(SessionError) as changed:
                diff_branches(session.journey.folder, "main", "longer")
        finally:
            trace.write_bytes(before)
        return Ways(
            evaluated=evaluated,
            stopped=stopped,
            stepped=stepped,
            hits=hits,
            skipped_first=skipped_first,
            again=again,
            skipped_last=skipped_last,
            saved=saved,
            alone=again_alone,
            refused=tuple(refused),
            diff=diff,
            listed=listed,
            changed=changed.value.message,
        )


def test_a_way_on_which_javascript_was_run_is_not_faithful(ways: Ways) -> None:
    """All its steps agree, but what was run may have changed what they do not show."""
    touched = ways.evaluated

    assert (touched.stand["verdict"], touched.stand["next"]) == ("unverifiable", None)
    assert touched.stand["doubts"] == ["JavaScript was run manually at 1"]
    assert "main: 3 of 3, unverifiable (JavaScript was run manually at 1)" in touched.branches
    assert "'touched'  JavaScript was run manually at 1" in touched.checkpoints
    rows = [line.strip("│├└─ ").split(" [")[0] for line in touched.timeline.splitlines()]
    assert rows[1] == "● main (active, JavaScript was run manually at 1): unverifiable ?"
    assert rows[3:5] == ["! run manually: window.k = 7", "◆ touched"]


@pytest.mark.parametrize("when", ["skipped_first", "again"])
def test_a_skill_that_works_elsewhere_is_not_faithful(ways: Ways, when: str) -> None:
    """It reads the document that was recorded, and not the one that its branch came to, however often it is done."""
    shown: Seen = getattr(ways, when)

    assert shown.stand["verdict"] == "unverifiable"
    assert "? 1 skill extract_table (new): unverifiable" in shown.timeline


@pytest.mark.parametrize("form", ["first", "patched", "saved"])
def test_no_replay_calls_a_skill_that_works_elsewhere_faithful(ways: Ways, form: str) -> None:
    """Neither the bundle of the branch, nor the recording with its patch, nor the saved bundle know its document."""
    assert ways.alone[form] == "unverifiable, unverifiable"


def test_a_saved_branch_with_a_skill_that_works_elsewhere_has_no_certificate(ways: Ways) -> None:
    """No replay of it is faithful either: what the skill is to return is not known, and that is said."""
    first, step, why = ways.saved["lines"]

    assert first.endswith(": a bundle of its own, unverifiable, without a certificate:")
    assert step.endswith("(skill extract_table): cannot be compared")
    assert "the trace has no document for the skill" in why


def test_a_branch_without_the_last_step_is_not_faithful(ways: Ways) -> None:
    """Every step that is left agrees; the timeline shows the one that is missing."""
    shown = ways.skipped_last

    assert (shown.stand["verdict"], shown.stand["next"]) == ("unverifiable", None)
    assert "* last: 2 of 2, unverifiable (1 step skipped without replacement)" in shown.branches
    assert "- skipped: navigate to " in shown.timeline.partition("● last")[2]


def test_what_is_certified_is_said_to_be(tmp_path: Path) -> None:
    """Also where nothing had to be changed for it."""
    report = CertificationReport(
        status="certified", mission_id="m", trace_path="t", runs=2, rounds=1, stress=False, accepted=False
    )

    assert describe_saved_trace(tmp_path, report) == (f"{tmp_path}: a bundle of its own, certified",)


def test_a_patch_replaces_no_file(ways: Ways) -> None:
    """The second one of that name is refused."""
    assert "the file for the patch already exists" in ways.refused[0]


def test_breakpoints_know_the_steps_of_branches(ways: Ways) -> None:
    """The branch has one step more than the recording, and stops before it."""
    assert (ways.listed["iteration"], ways.listed["detail"]) == (3, "bp-3 iteration")
    assert "from 1 to 4, got '5'" in ways.refused[1]


def test_a_breakpoint_where_the_session_stands_stops_it_once(ways: Ways) -> None:
    """Nothing had stopped there for it before; a step that was asked for is done, and the hit is counted."""
    assert [(each["iteration"], each["reason"]) for each in ways.stopped] == [(0, "breakpoint"), (1, "step")]
    assert (ways.stepped["iteration"], ways.stepped["reason"]) == (1, "step")
    assert ways.hits == (2, 1)


def test_a_difference_names_the_fields_that_were_changed(ways: Ways) -> None:
    """Below the step, with both values."""
    assert "      action.timeout_ms: 30000.0 -> 9000.0\n" in ways.diff


def test_a_recording_that_was_changed_is_not_compared(ways: Ways) -> None:
    """It is not the one any more with which the session began."""
    assert "the trace was modified since session s1 started" in ways.changed
