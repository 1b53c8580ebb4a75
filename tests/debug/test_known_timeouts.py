"""Repeating a known timeout: the same page time passes in fewer polls, and the state is equal."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import pytest

from eikon_engine.browser.stabilizer import PageStabilizer
from eikon_engine.debug.commands import BranchInsert, Resume, Rewind, Step
from eikon_engine.record import open_recorder
from eikon_engine.trace.actions import Click, Navigate, Note, SelectorCondition, WaitFor
from eikon_engine.trace.target import Target
from tests.debug.in_process import in_process_session
from tests.sites.static import serve_folder

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.trace.actions import Action

pytestmark = pytest.mark.browser

PAGE = """<!doctype html><title>Ticks</title><p id=said></p><script>
const seen = [];
const note = what => { seen.push(`${what} at ${Date.now() % 1e6} and ${Math.round(performance.now())}`) };
setTimeout(() => { note('one'); setTimeout(() => { note('three'); said.textContent = seen.join() }, 1870) }, 1230);
setTimeout(() => note('two'), 1240);
</script>"""
WAITS: Final[tuple[Action, ...]] = (
    Click(target=Target(selector="#never"), timeout_ms=5000),
    WaitFor(condition=SelectorCondition(target=Target(selector="#never")), timeout_ms=4000),
)


async def _record(folder: Path) -> None:
    site = folder / "site"
    site.mkdir()
    (site / "ticks.html").write_text(PAGE)
    with serve_folder(site) as url:
        recorder = open_recorder(folder / "bundle", mission_text="Wait", mission_id="wait")
        async with recorder as mission, mission.subgoal("Look"):
            await mission.perform(Navigate(url=f"{url}/ticks.html"))
            await mission.perform(Note(text="done"))


def test_a_known_timeout_is_polled_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Page timers fire at the same moments, the clock stops at the same time, and every layer is equal."""
    strides: list[float] = []
    tick = PageStabilizer.pass_time_waiting

    async def counted(rest: PageStabilizer, duration_ms: float) -> None:
        strides.append(duration_ms)
        await tick(rest, duration_ms)

    async def work() -> tuple[str, str, list[float], list[float], tuple[str, int]]:
        await _record(tmp_path)
        async with in_process_session(tmp_path / "sessions", tmp_path / "bundle") as session:
            await session.do(Step())
            for name, action in zip(("again", None), WAITS, strict=True):
                await session.do(BranchInsert(name=name, action=action))
            monkeypatch.setattr(PageStabilizer, "pass_time_waiting", counted)
            await session.do(Resume())
            said, before = await session.page.inner_text("#said"), tuple(strides)
            strides.clear()
            await session.do(Rewind(iteration=3, force=True))
            rewound = session.events("rewind")[-1]
            again = await session.page.inner_text("#said")
            return said, again, list(before), list(strides), (rewound.way, rewound.reexecuted)

    said, again, before, after, rewound = asyncio.run(work())

    assert said == again != ""
    assert rewound == ("reexecuted", 3)
    assert sum(before) == sum(after) == 9000
    assert (len(before) > 100, len(after) < 30) == (True, True), (before, after)
