"""The init script that gives workers the clock and the chance of their page."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Final

STEP_WORKERS: Final = "() => window.__eikon__?.stepWorkers?.()"
"""Bring the workers of a document to its time; over when their timers have run and what they posted has arrived."""
REST_WORKERS: Final = "() => window.__eikon__?.restWorkers?.() ?? 0"
"""Wait until the workers of a document have handled what was posted; answers how many fetches they wait for."""
WORKERS_BUSY: Final = "() => window.__eikon__?.workersBusy?.() ?? 0"
"""Count what was posted to workers and is not known to be handled; a worker that starts counts as one."""


def worker_script(seed: int, *, stepped: bool) -> str:
    """Return the script, to be added after `init_determinism.js`, in recording and replay alike.

    `stepped` says that the page's clock is paused and moved by us; otherwise it runs, and so do those of workers.
    """
    source = files("eikon_engine.browser").joinpath("init_workers.js").read_text(encoding="utf-8")
    settings = json.dumps({"seed": seed, "stepped": stepped})
    begin = source.index("(function")
    return f"{source[:begin]}{source[begin:].strip()}(window.__eikon__.evenOut, {settings});"
