"""The scripts of ours that run in pages."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def own_script(name: str) -> str:
    """Read one of them."""
    return files("eikon_engine.browser").joinpath(name).read_text(encoding="utf-8")
