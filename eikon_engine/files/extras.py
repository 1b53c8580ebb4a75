"""The extras of the package: the modules that each of them installs, and the command that installs it."""

from __future__ import annotations

import json
import shlex
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

EXTRAS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "pixels": ("PIL",),
        "llm": ("openai",),
        "debug": ("prompt_toolkit",),
        "fix": ("bm25s", "defusedxml", "pathspec"),
        "scenario": ("ruamel",),
        "history": ("alembic", "sqlalchemy"),
        "ray": ("ray",),
        "storage": ("fsspec", "s3fs"),
        "ui": ("starlette", "uvicorn"),
    }
)
"""Top-level modules by the extra that a user installs for them, without those that the package itself requires."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra of this package, from the same source as the package.

    A package that was installed from a folder or a repository names it in `direct_url.json`:
    https://packaging.python.org/en/latest/specifications/direct-url/.
    """
    from importlib import metadata  # noqa: PLC0415 - slow to import, and seldom needed

    direct: dict[str, Any] = json.loads(metadata.distribution("eikon-engine").read_text("direct_url.json") or "{}")
    folder = direct.get("dir_info")
    source = "eikon-engine" if folder is None else unquote(urlsplit(direct["url"]).path)
    option = "-e " if folder is not None and folder.get("editable") else ""
    return f"pip install {option}{shlex.quote(f'{source}[{extra}]')}"


def extra_of(module: str) -> str | None:
    """Return the extra that installs a module; None if it is of no extra."""
    top = module.partition(".")[0]
    return next((extra for extra, modules in EXTRAS.items() if top in modules), None)
