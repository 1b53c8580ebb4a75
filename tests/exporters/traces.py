"""Small traces, and their exports."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from eikon_engine.exporters.playwright_preamble import CompanionFiles
from eikon_engine.exporters.playwright_test import BundleFiles, write_test
from eikon_engine.files.blobs import BlobRef
from eikon_engine.trace.execution import ActionTrace, ExecutionTrace, SubgoalTrace, Succeeded
from eikon_engine.trace.observation import Observation, PageObservation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from eikon_engine.dom import PageSnapshot
    from eikon_engine.exporters.playwright_test import ExportedTest
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import Result

URL = "http://shop.example:8000"
CONTENT = b'"name;price"\n'
BLOB = BlobRef(sha256="0" * 64, size=len(CONTENT))


def step(number: int, action: Action, seen: Observation | None = None, result: Result | None = None) -> ActionTrace:
    """Make one step."""
    return ActionTrace(id=str(number), sequence=number, action=action, result=result or Succeeded(), observation=seen)


def trace_of(*steps: ActionTrace, **fields: object) -> ExecutionTrace:
    """Make a mission of one subgoal."""
    subgoal = SubgoalTrace(id="1", subgoal_id="buy", description="Buy it", status="complete", actions_taken=steps)
    given = {"mission_id": "Buy a pear", "mission_text": "Buy a pear.", "subgoal_traces": (subgoal,), **fields}
    return ExecutionTrace(
        id="t",
        started_at=datetime(2026, 1, 15, tzinfo=UTC),
        status="complete",
        **given,  # type: ignore[arg-type] # of the test
    )


def seen_at(url: str, title: str = "", **fields: object) -> Observation:
    """Observe one page."""
    page = PageObservation(page=0, url=url, title=title)
    return Observation(pages=(page,), **fields)  # type: ignore[arg-type] # of the test


def exported(trace: ExecutionTrace, snapshots: Mapping[str, PageSnapshot] | None = None) -> ExportedTest:
    """Export a trace; snapshots are those of the pages at their URLs."""

    def load(page: PageObservation) -> PageSnapshot | None:
        return (snapshots or {}).get(page.url)

    companions = CompanionFiles(read_file=lambda _: CONTENT)
    return write_test(trace, BundleFiles(load_snapshot=load, companions=companions), files_folder="test_pear_files")


def body(test: ExportedTest) -> Sequence[str]:
    """Return the lines of the subgoal."""
    lines = test.source.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("    with step("))
    return [line.strip() for line in lines[start + 1 :] if line.strip() != "assert errors == []"]
