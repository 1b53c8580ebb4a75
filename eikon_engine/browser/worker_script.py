"""The init script that gives workers the clock and the random seed of their page."""

from __future__ import annotations

import json

from eikon_engine.browser.own_script import load_script


def worker_script(seed: int, *, stepped: bool) -> str:
    """Return the script, to be added after `init_determinism.js`, in recording and replay alike.

    `stepped` means that the page clock is paused and stepped by us; otherwise it runs, like those of workers.
    """
    source = load_script("init_workers.js")
    settings = json.dumps({"seed": seed, "stepped": stepped})
    begin = source.index("(function")
    return f"{source[:begin]}{source[begin:].strip()}(window.__eikon__.makeDeterministic, {settings});"
