"""Verdicts that a session must not claim: faithful if that is unknown, or complete if something stopped it."""

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
from eikon_engine.errors import OutputError, SessionError, UsageError
from eikon_engine.outcome.certification import CertificationReport
from eikon_engine.record import open_recorder
from eikon_engine.replay.engine import run_replay
from eikon_engine.replay.options import ReplayOptions
from eikon_engine.trace.actions import Navigate, Note
from eikon_engine.trace.bundle import copy_bundle, open_bundle
from eikon_engine.trace.patch import apply_patch, read_patch
from tests.debug.in_process import in_process_session
from tests.error_codes import has_code
from tests.sites.static import serve_folder

if TYPE_CHECKING:
    from tests.debug.in_process import InProcessSession

pytestmark = pytest.mark.browser

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
            await mission.perform(Navigate(url=f"{url}/prices.html"))
            await mission.skill("extract_table")
            await mission.perform(Navigate(url=f"{url}/other.html"))


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a session reports at one position."""

    position: Any
    branches: str
    checkpoints: str
    timeline: str


def report_of(session: InProcessSession, position: Any) -> Report:  # noqa: ANN401 - JSON
    """Return everything that shows a verdict."""
    folder = session.debug_session.folder
    return Report(
        position=position,
        branches=list_branches(folder).text,
        checkpoints=list_checkpoints(folder).text,
        timeline=show_timeline(folder, "text", None).text,
    )


@dataclass(frozen=True, kw_only=True)
class Branches:
    """A session that ran several branches."""

    evaluated: Report
    stopped: tuple[Any, ...]
    stepped: Any
    hits: tuple[int, ...]
    skipped_first: Report
    again: Report
    skipped_last: Report
    saved: Any
    alone: dict[str, str]
    refused: tuple[str, ...]
    diff: str
    listed: Any
    changed: str


@pytest.fixture(scope="module")
def branches_run(prices: Path, tmp_path_factory: pytest.TempPathFactory) -> Branches:
    """Run several branches."""
    return asyncio.run(_go(prices, tmp_path_factory.mktemp("sessions")))


async def skill_in_replays(session: InProcessSession, prices: Path, parent: Path) -> dict[str, str]:
    """Replay the branch in all its saved forms, and return the verdicts of its skill and of the replays."""
    branch, patched = session.debug_session.folder.branches / "first", parent / "patched"
    patch = read_patch(parent / "first.json")
    copy_bundle(prices, apply_patch(open_bundle(prices).trace, patch), patched)
    found = {}
    for folder in (branch, patched, parent / "saved"):
        options = ReplayOptions(artifacts_dir=parent / f"run-{folder.name}", on_divergence="continue")
        run = await run_replay(open_bundle(folder), options, (), session.debug_session.pool.launched)
        (skill,) = (step for each in run.outcome.subgoals for step in each.steps if step.kind == "skill")
        found[folder.name] = f"{skill.verdict}, {run.outcome.verdict}"
    return found


async def _go(prices: Path, parent: Path) -> Branches:
    refused: list[str] = []
    async with in_process_session(parent, prices) as session:
        do = session.do
        await do(Step())
        await do(Evaluate(expression="window.k = 7"))
        await do(CheckpointCreate(label="touched"))
        evaluated = report_of(session, await do(Resume()))

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
        skipped_first = report_of(session, await do(Resume()))
        await do(Rewind(iteration=1, force=True))
        again = report_of(session, await do(Resume()))
        saved = await do(BranchSave(name="first", form="trace", output=str(parent / "saved")))
        await do(BranchSave(name="first", form="patch", output=str(parent / "first.json")))
        again_alone = await skill_in_replays(session, prices, parent)
        with pytest.raises(OutputError) as twice:
            await do(BranchSave(name="first", form="patch", output=str(parent / "first.json")))
        refused.append(twice.value.message)

        await do(BranchSwitch(name="main"))
        await do(Rewind(iteration=0, force=True))
        await do(RunTo(iteration=2))
        skipped_last = report_of(session, await do(BranchSkip(name="last")))

        await do(BranchSwitch(name="main"))
        await do(Rewind(iteration=0, force=True))
        await do(BranchInsert(name="longer", action=Note(text="more")))
        await do(BreakpointAdd(on="iteration", value=4))
        with pytest.raises(UsageError, check=has_code("breakpoint")) as beyond:
            await do(BreakpointAdd(on="iteration", value=5))
        refused.append(beyond.value.message)
        await do(BranchEdit(iteration=2, fields={"action.timeout_ms": 9000}))
        listed = await do(Resume())
        diff = diff_branches(session.debug_session.folder, "main", "longer").text

        trace = prices / "trace.json"
        before = trace.read_bytes()
        trace.write_bytes(before.replace(b"Read prices", b"Read other"))
        try:
            with pytest.raises(SessionError) as changed:
                diff_branches(session.debug_session.folder, "main", "longer")
        finally:
            trace.write_bytes(before)
        return Branches(
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


def test_a_history_with_javascript_is_not_faithful(branches_run: Branches) -> None:
    """All its steps agree, but the JavaScript may have changed what they do not show."""
    touched = branches_run.evaluated

    assert (touched.position["verdict"], touched.position["next"]) == ("unverifiable", None)
    assert touched.position["doubts"] == ["JavaScript was run manually at 1"]
    assert "main: 3 of 3, unverifiable (JavaScript was run manually at 1)" in touched.branches
    assert "'touched'  JavaScript was run manually at 1" in touched.checkpoints
    rows = [line.strip("│├└─ ").split(" [")[0] for line in touched.timeline.splitlines()]
    assert rows[1] == "● main (active, JavaScript was run manually at 1): unverifiable ?"
    assert rows[3:5] == ["! run manually: window.k = 7", "◆ touched"]


@pytest.mark.parametrize("when", ["skipped_first", "again"])
def test_a_skill_on_a_changed_page_is_not_faithful(branches_run: Branches, when: str) -> None:
    """It reads the recorded document, not the one of its branch, however often it runs."""
    shown: Report = getattr(branches_run, when)

    assert shown.position["verdict"] == "unverifiable"
    assert "? 1 skill extract_table (new): unverifiable" in shown.timeline


@pytest.mark.parametrize("form", ["first", "patched", "saved"])
def test_no_replay_reports_a_skill_on_a_changed_page_as_faithful(branches_run: Branches, form: str) -> None:
    """Neither the branch bundle, the patched recording nor the saved bundle has its document."""
    assert branches_run.alone[form] == "unverifiable, unverifiable"


def test_a_saved_branch_with_an_unverifiable_skill_has_no_certificate(branches_run: Branches) -> None:
    """The expected result of the skill is unknown, and saving reports it."""
    first, step, why, *_, next_step = branches_run.saved["lines"]

    assert first.endswith(": saved as a bundle, unverifiable, without a certificate:")
    assert step.endswith("(skill extract_table): cannot be compared")
    assert "the trace has no document for the skill" in why
    assert next_step.startswith("  next: ")


def test_a_branch_without_the_last_step_is_not_faithful(branches_run: Branches) -> None:
    """All remaining steps agree; the timeline shows the missing one."""
    shown = branches_run.skipped_last

    assert (shown.position["verdict"], shown.position["next"]) == ("unverifiable", None)
    assert "* last: 2 of 2, unverifiable (1 step skipped without replacement)" in shown.branches
    assert "- skipped: navigate to " in shown.timeline.partition("● last")[2]


def test_a_certified_bundle_is_reported_as_certified(tmp_path: Path) -> None:
    """Includes bundles that needed no mask."""
    report = CertificationReport(
        status="certified", mission_id="m", trace_path="t", runs=2, rounds=1, stress=False, accepted=False
    )

    assert describe_saved_trace(tmp_path, report) == (f"{tmp_path}: saved as a bundle, certified",)


def test_a_patch_overwrites_no_file(branches_run: Branches) -> None:
    """Saving a second one to the same path is rejected."""
    assert "the file for the patch already exists" in branches_run.refused[0]


def test_breakpoints_accept_steps_of_branches(branches_run: Branches) -> None:
    """The branch has one step more than the recording, and stops before it."""
    assert (branches_run.listed["iteration"], branches_run.listed["detail"]) == (3, "bp-3 iteration")
    assert "from 1 to 4, got '5'" in branches_run.refused[1]


def test_a_breakpoint_at_the_current_position_stops_once(branches_run: Branches) -> None:
    """The hit is counted; a requested step runs anyway."""
    assert [(each["iteration"], each["reason"]) for each in branches_run.stopped] == [(0, "breakpoint"), (1, "step")]
    assert (branches_run.stepped["iteration"], branches_run.stepped["reason"]) == (1, "step")
    assert branches_run.hits == (2, 1)


def test_a_diff_names_the_changed_fields(branches_run: Branches) -> None:
    """Both values are listed below the step."""
    assert "      action.timeout_ms: 30000.0 -> 9000.0\n" in branches_run.diff


def test_a_modified_recording_is_not_compared(branches_run: Branches) -> None:
    """It is no longer the recording that the session started with."""
    assert "the trace was modified since session s1 started" in branches_run.changed
