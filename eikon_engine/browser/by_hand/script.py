"""Assemble the init script that reports a person's interactions in every document."""

from __future__ import annotations

from functools import cache
from typing import Final

from eikon_engine.browser.own_script import load_script

BINDING: Final = "__eikon_report__"
"""Name of the binding the script reports through; the script removes it before the page can see it."""


@cache
def interaction_script() -> str:
    """Return the init script; it runs after those of the session."""
    script = load_script("by_hand/whole.js").replace("BINDING", BINDING)
    for part in ("naming", "overlay", "events", "travels"):
        source = load_script(f"by_hand/{part}.js").strip()
        script = script.replace(f"({part.upper()})", f"({source[source.index(chr(10) + '(') + 1 :]})")
    return script
