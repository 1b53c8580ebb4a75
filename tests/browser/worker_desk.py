"""Sessions whose workers use the clock of their page, which a test advances."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from eikon_engine.trace.actions import Navigate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.browser.desk import Desk, Room

SAY = "<pre id=p></pre><script>const say = text => p.textContent += text + '\\n';{}</script>"
BLOB = "URL.createObjectURL(new Blob([{}], {{type: 'text/javascript'}}))"
SETTLE_WORKERS = """(async () => {
  let open;
  do open = await __eikon__.settleWorkers(); while (__eikon__.hasStartingWorkers());
  return open;
})()"""
"""Wait until workers have started and are idle; returns what they do, with the number of their open `fetches`."""


@contextmanager
def worker_desk(room: Room, *, stepped: bool = True) -> Iterator[Desk]:
    """Open a fresh session whose clock is either stepped or natural."""
    with room.desk(settle_ms=0, natural=not stepped) as desk:
        yield desk


def show(desk: Desk, script: str) -> None:
    """Load a document with a script that may call `say`, and wait until its workers have started."""
    desk.ok(Navigate(url=desk.site.put(SAY.format(script))))
    desk.js(SETTLE_WORKERS)


def pass_time(desk: Desk, duration_ms: int, tick_ms: int = 20) -> None:
    """Advance page time, including that of the workers."""
    for _ in range(0, duration_ms, tick_ms):
        desk.portal.call(desk.worker.session.stabilizer.settle, tick_ms)


def said(desk: Desk) -> list[str]:
    """Return the texts passed to `say`."""
    text: str = desk.js("p.textContent")
    return text.splitlines()
