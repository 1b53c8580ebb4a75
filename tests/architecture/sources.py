"""The modules of the project, as text and as syntax trees, for tests about their shape."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PROJECT = Path(__file__).parents[2]
PACKAGE = PROJECT / "eikon_engine"

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Source:
    """One module."""

    path: Path
    name: str
    """Dotted name; a package has the name of its folder."""
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Parse the module on first use, since all syntax trees together are a million objects."""
        return ast.parse(self.text, filename=str(self.path))


@cache
def sources() -> tuple[Source, ...]:
    """Read every module of the package, in order of its path."""
    return tuple(_read(path) for path in sorted(PACKAGE.rglob("*.py")))


def module_names() -> tuple[str, ...]:
    """Return every module that can be imported without running a command."""
    return tuple(source.name for source in sources() if not source.name.endswith("__main__"))


def functions_of(tree: ast.Module) -> Iterator[Function]:
    """Iterate over the functions and methods of a module, nested ones included."""
    for node in ast.walk(tree):
        if isinstance(node, Function):
            yield node


def _read(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    name = ".".join(path.relative_to(PROJECT).with_suffix("").parts).removesuffix(".__init__")
    return Source(path=path, name=name, text=text)
