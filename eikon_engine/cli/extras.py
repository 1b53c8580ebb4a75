"""The extras of the package, and the modules that each of them installs."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "pixels": ("PIL",),
        "llm": ("openai",),
        "debug": ("prompt_toolkit", "regex"),
        "fix": ("bm25s", "defusedxml", "pathspec"),
        "scenario": ("ruamel",),
        "history": ("alembic", "sqlalchemy"),
        "ray": ("ray",),
        "storage": ("fsspec", "s3fs"),
        "ui": ("starlette", "uvicorn"),
    }
)
"""Top-level modules by the extra that a user installs for them, without those that the package itself requires."""


def extra_of(module: str) -> str | None:
    """Return the extra that installs a module; None if it is of no extra."""
    top = module.partition(".")[0]
    return next((extra for extra, modules in EXTRAS.items() if top in modules), None)
