"""Serve the pages of the package ``miniwob``: small tasks, each with an instruction, a timer and a reward.

How a page works, according to its ``core/core.js`` and observed in Chromium 156:

* **Start.** On load a sheet ``#sync-task-cover`` ("START") lies over the page. A click on it draws the problem into
  ``#area``, writes the instruction into ``#query``, and starts the timer. There is no problem before that click.
* **Instruction.** The text of ``#query`` with white space joined, as ``core.getUtterance()`` does.
* **Timer.** ``#timer-countdown`` shows "10 / 10sec" and counts down each second (``setInterval``); a ``setTimeout`` of
  ``core.EPISODE_MAX_TIME`` (10 s; 15 in enter-password, 20 in enter-date) ends the episode with -1. Once it
  is over the text is "-".
* **Reward.** After the last action ``#reward-last`` has two digits ("1.00", "-1.00"), ``#reward-avg`` the mean of the
  last ten, ``#episode-id`` the number of finished episodes; the sheet is back, and the console has a line
  ``reward: 0.9953 (raw: 1)``. The globals are ``WOB_REWARD_GLOBAL``, ``WOB_RAW_REWARD_GLOBAL``, ``WOB_DONE_GLOBAL``.
  Where the task says so the reward shrinks with the time used, ``raw * (1 - used / maximum)``: the sign depends on
  the task, the digits on the clock.
* **Marks of the mouse.** A click sets ``data-tampered="e0"`` on its target (``e`` and the number of finished episodes)
  and draws a dot on ``#click-canvas``.

Two loads of one page differ because of:

* ``Math.random``: decides the problem. The page holds David Bau's ``seedrandom`` but never calls it, so the browser's
  generator decides. ``--js-flags=--random-seed=N`` made ``#query`` and ``#area`` equal in all 39 pages tried; so does
  ``Math.seedrandom("7")``, run after the load and before the click on the sheet. seedrandom itself draws one number
  when ``core.js`` loads, jQuery one more for its ``expando``.
* ``Date``: the reward's digits and the console line. Chosen dates are drawn from ``Math.random`` in fixed years.
* ``setInterval``: the text and the colour of ``#timer-countdown``.
* The mouse: where the list of an autocomplete opens under a resting mouse, jQuery UI 1.12.1 takes the next move for one
  onto the item that was below it, so a click on another item chooses the wrong one. A click on ``#tags`` before typing
  moves the mouse out of the way.
* jQuery UI: ids ``ui-id-N`` are counted from 1 in each page (``jquery-ui-hacks.js``); the list of an autocomplete opens
  300 ms after the last key and a collapsible slides open over some 500 ms, both by timers.

No page requests another host, and no file is missing.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tests.sites.static import serve_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

MINIWOB_CONTROLS: dict[str, str] = {
    "click-test": "click `#subbtn`",
    "click-test-2": "click `#subbtn` (ONE)",
    "click-button": "click the `#area button` with the quoted text; the label may occur twice, either counts",
    "click-button-sequence": "click `#subbtn` (ONE), then `#subbtn2` (TWO)",
    "click-checkboxes": "check `#area label` by the names listed (or nothing), click `#subbtn`",
    "click-option": "choose `#area label` by the name given, click `#area button`",
    "click-tab": "click `#area .ui-tabs-anchor` with the text `Tab #N`",
    "click-link": "click `#area .alink` with the quoted text",
    "click-dialog": "click `.ui-dialog-titlebar-close`",
    "click-dialog-2": "click `.ui-dialog-titlebar-close` for x, else `.ui-dialog-buttonset button` by its text",
    "click-collapsible": "click `#area h3`, then `#subbtn` once it has slid into view",
    "choose-list": "choose in `#options` by label, click `#area button`",
    "enter-text": "fill `#tt` with the quoted text, click `#subbtn`",
    "enter-password": "fill `#password` and `#verify`, click `#subbtn`",
    "enter-date": "fill `#tt` (type date) with YYYY-MM-DD; the instruction says MM/DD/YYYY; click `#subbtn`",
    "focus-text": "click `#tt`",
    "login-user": "fill `#username` and `#password` with the two quoted texts, click `#subbtn`",
    "use-autocomplete": "click `#tags`, type, wait for the wanted `.ui-autocomplete li`, click it, click `#subbtn`",
}
"""The controls of each task; every task was solved with them with a reward above 0.9."""

MINIWOB_TASKS: tuple[str, ...] = tuple(MINIWOB_CONTROLS)
"""The pages that plain clicks and typing solve, as ``{base url}/miniwob/{task}.html``."""


def miniwob_folder() -> Path:
    """Return the package's HTML folder without importing the package, which requires a machine-learning stack.

    Raises:
        RuntimeError: The package is not installed.
    """
    spec = find_spec("miniwob")
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("the package miniwob is not installed; install it with: pip install --no-deps miniwob")
    return Path(spec.submodule_search_locations[0]) / "html"


@contextmanager
def serve_miniwob(*, port: int = 0) -> Iterator[str]:
    """Serve the pages on loopback; yields the base URL without a trailing slash."""
    with serve_folder(miniwob_folder(), port=port) as url:
        yield url
