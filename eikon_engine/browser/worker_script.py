"""The init script that gives workers the clock and the chance of their page."""

from __future__ import annotations

import json
from importlib.resources import files


def worker_script(seed: int, *, stepped: bool) -> str:
    """Return the script, to be added after `init_determinism.js`, in recording and replay alike.

    `stepped` says that the page's clock is paused and moved by us; otherwise it runs, and so do those of workers.
    """
    source = files("eikon_engine.browser").joinpath("init_workers.js").read_text(encoding="utf-8")
    settings = json.dumps({"seed": seed, "stepped": stepped})
    begin = source.index("(function")
    return f"{source[:begin]}{source[begin:].strip()}(window.__eikon__.evenOut, {settings});"
