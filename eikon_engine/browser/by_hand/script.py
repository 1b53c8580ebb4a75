"""Put together the script that hears a person in every document."""

from __future__ import annotations

from functools import cache
from typing import Final

from eikon_engine.browser.own_script import own_script

BINDING: Final = "__eikon_told__"
"""Name under which the script finds the way to the recorder; it takes it away before the page can see it."""


@cache
def hearing_script() -> str:
    """Return the init script; it runs after those of a session."""
    script = own_script("by_hand/whole.js").replace("BINDING", BINDING)
    for part in ("naming", "overlay", "events", "travels"):
        source = own_script(f"by_hand/{part}.js").strip()
        script = script.replace(f"({part.upper()})", f"({source[source.index(chr(10) + '(') + 1 :]})")
    return script
