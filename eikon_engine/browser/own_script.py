"""Load the scripts that run in pages."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

STORED_SCRIPTS: Final = {"bind.js": "sight", "dom_snapshot.js": "snapshot"}
"""Scripts that every document keeps loaded, with their names there: sending them each time takes longer than running
them."""


@cache
def load_script(name: str) -> str:
    """Read a page script."""
    return files("eikon_engine.browser").joinpath(name).read_text(encoding="utf-8")


@cache
def stored_scripts_init() -> str:
    """Return the init script that stores them in `window.__eikon__`; it runs after the one that creates it."""
    kept = ",\n".join(f"{name}: {load_script(file).strip().rstrip(';')}" for file, name in STORED_SCRIPTS.items())
    return f"Object.assign(window.__eikon__, {{\n{kept}\n}});"


CALL_STORED_SCRIPT: Final = "([name, handed]) => window.__eikon__?.[name]?.(handed) ?? null"
"""Calls a stored script; null where our init scripts did not run."""
