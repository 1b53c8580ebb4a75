"""Third-party sites: recorded live, stopped, and replayed from the bundle alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pytest
import zstandard

from eikon_engine.record import RecordOptions, open_recorder
from eikon_engine.trace.trace_file import read_trace
from tests.missions.django_admin import PASSWORD_NAME, keep_a_note
from tests.missions.miniwob import SOLUTIONS, solve_task
from tests.replay.conftest import replay
from tests.replay.shared_browsers import SHARED
from tests.sites.django_site import DJANGO_PASSWORD, DJANGO_USER, serve_django
from tests.sites.miniwob_site import serve_miniwob

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.record import MissionRecorder

pytestmark = pytest.mark.browser

MINIWOB_SETTLE_MS = 200.0
TASKS_A_MISSION = 4
TASKS = tuple(sorted(SOLUTIONS))
MISSIONS = tuple(TASKS[first : first + TASKS_A_MISSION] for first in range(0, len(TASKS), TASKS_A_MISSION))[::2]
"""Every second one; the benchmarks replay all of them, and many times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A bundle in a folder of its own."""

    folder: Path
    secrets: Mapping[str, str]

    @property
    def bundle(self) -> Path:
        """Return the folder of the bundle."""
        return self.folder / "bundle"

    @property
    def artifacts(self) -> Path:
        """Return the folder of the replay's artifacts."""
        return self.folder / "artifacts"

    def replay(self) -> ReplayOutcome:
        """Replay in a shared browser."""
        return replay(self.bundle, self.artifacts, secrets=self.secrets)


def record(
    folder: Path,
    drive: Callable[[MissionRecorder], Awaitable[None]],
    *,
    secrets: Mapping[str, str] | None = None,
    settle_ms: float = 500.0,
) -> Recorded:
    """Record the actions of `drive`."""
    recorded = Recorded(folder=folder, secrets=secrets or {})
    options = RecordOptions(secrets=recorded.secrets, settle_ms=settle_ms)

    async def run() -> None:
        async with open_recorder(recorded.bundle, mission_text="visit a stranger's site", options=options) as mission:
            await drive(mission)

    SHARED.run(run())
    return recorded


def record_miniwob(folder: Path, tasks: tuple[str, ...]) -> Recorded:
    """Solve tasks one after the other in one session; the site is stopped when this returns."""
    with serve_miniwob() as url:

        async def solve(mission: MissionRecorder) -> None:
            for task in tasks:
                await solve_task(mission, url, task)

        return record(folder, solve, settle_ms=MINIWOB_SETTLE_MS)


def record_django(folder: Path) -> Recorded:
    """Write a note in the admin; the site is stopped when this returns."""
    with serve_django(folder / "site") as url:
        return record(
            folder, lambda mission: keep_a_note(mission, url, DJANGO_USER), secrets={PASSWORD_NAME: DJANGO_PASSWORD}
        )


NOT_URGENT: Final = r"GET \S+/(?:js/(?:change_form|cancel)\.js|img/[\w-]+\.svg)"
OTHER_ORDER: Final = re.compile(
    rf"schedule: delivered at a different time than in the recording: {NOT_URGENT}(?:, {NOT_URGENT})*"
)
"""A browser holds back what is not urgent, here `async` scripts and images of the admin, while other requests are in
flight: those of a recording on a busy machine are not always sent in the same order again.
"""


def assert_faithful(outcome: ReplayOutcome) -> None:
    """Assert that every step was replayed from the bundle, and that every step was faithful."""
    steps = [step for subgoal in outcome.subgoals for step in subgoal.steps]
    assert (outcome.verdict, outcome.network_mode, outcome.ended_early) == ("faithful", "sealed", None)
    assert {step.verdict for step in steps} == {"faithful"}
    assert len(steps) == outcome.counts.actions_recorded + outcome.counts.skills_recorded
    notes = [each for each in outcome.network.notes if not OTHER_ORDER.fullmatch(each)]
    assert (outcome.network.misses, notes) == ((), [])
    assert outcome.network.served > 0


def contents(folder: Path) -> dict[str, bytes]:
    """Return the content of every file by path, blobs decompressed."""
    unpack = zstandard.ZstdDecompressor().decompress
    files = (path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): unpack(path.read_bytes()) if path.suffix == ".zst" else path.read_bytes()
        for path in files
    }


@pytest.mark.parametrize("tasks", MISSIONS, ids=" ".join)
def test_solved_pages_of_miniwob_replay_faithfully(tmp_path: Path, tasks: tuple[str, ...]) -> None:
    """Pages with random problems, timers and widgets repeat, including the reward, without their server."""
    recorded = record_miniwob(tmp_path, tasks)

    outcome = recorded.replay()

    assert read_trace(recorded.bundle).status == "complete"
    assert tuple(subgoal.subgoal_id for subgoal in outcome.subgoals) == tasks
    assert_faithful(outcome)


def test_a_mission_in_the_django_admin_replays_faithfully_and_keeps_its_password(tmp_path: Path) -> None:
    """Sessions, CSRF tokens, redirects and messages are served again; no file contains the password."""
    recorded = record_django(tmp_path)

    outcome = recorded.replay()

    trace = read_trace(recorded.bundle)
    assert trace.status == "complete"
    assert len(trace.subgoal_traces) >= 4
    assert outcome.counts.actions >= 12
    assert_faithful(outcome)
    written = {**contents(recorded.bundle), **contents(recorded.artifacts)}
    assert [name for name, content in written.items() if DJANGO_PASSWORD.encode() in content] == []
    assert any(b"{{eikon-secret:" + PASSWORD_NAME.encode() in content for content in written.values())
