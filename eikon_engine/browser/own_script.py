"""The scripts of ours that run in pages."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from playwright.async_api import Frame

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


async def call(frame: Frame, file: str, argument: object) -> Any:  # noqa: ANN401 - JSON of a page
    """Call a script in a document: the one that is kept, else the one that is sent along."""
    answer = await frame.evaluate(CALL_KEPT, [KEPT[file], argument])
    return answer if answer is not None else await frame.evaluate(own_script(file), argument)
