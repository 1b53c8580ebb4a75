"""The scripts of ours that run in pages."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

KEPT: Final = {"bind.js": "sight", "dom_snapshot.js": "snapshot"}
"""Scripts that every document keeps ready, with their names there: sending them each time takes longer than they do."""


@cache
def own_script(name: str) -> str:
    """Read one of them."""
    return files("eikon_engine.browser").joinpath(name).read_text(encoding="utf-8")


@cache
def keeping_script() -> str:
    """Return the init script that keeps them; it runs after the one that makes the place for them."""
    kept = ",\n".join(f"{name}: {own_script(file).strip().rstrip(';')}" for file, name in KEPT.items())
    return f"Object.assign(window.__eikon__, {{\n{kept}\n}});"


CALL_KEPT: Final = "([name, handed]) => window.__eikon__?.[name]?.(handed) ?? null"
"""Calls a kept script; null where none of ours ran."""
