"""Find the imports of a Python file: by parsing, or by patterns if it has syntax errors or newer syntax."""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_START: Final = r"(?:^|[;:])[ \t]*"
_IMPORT: Final = re.compile(_START + r"import[ \t]+([^\n;]+)", re.MULTILINE)
_FROM: Final = re.compile(
    _START + r"from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n;]+)", re.MULTILINE
)
_COMMENT: Final = re.compile(r"#[^\n]*")
_CALL: Final = re.compile(r"""\b(?:import_module|importorskip|__import__)\(\s*["']([\w.]+)["']""")
_IDENTIFIER: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One imported module, and the names imported from it."""

    module: str
    """Dotted name; may be empty if `level` is not 0."""
    level: int = 0
    """Number of leading dots."""
    names: tuple[str, ...] = ()


def find_imports(text: str) -> tuple[Import, ...]:
    """Return the imports of a source text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        found = _match_imports(_COMMENT.sub("", text.replace("\\\n", " ")))
    else:
        found = _parse_imports(tree)
    return (*found, *(Import(module=name) for name in _CALL.findall(text)))


def _parse_imports(tree: ast.Module) -> Iterator[Import]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (Import(module=each.name) for each in names)
            case ast.ImportFrom(module=module, level=level, names=names):
                yield Import(module=module or "", level=level, names=tuple(each.name for each in names))
            case _:
                pass


def _match_imports(text: str) -> Iterator[Import]:
    for names in _IMPORT.findall(text):
        yield from (Import(module=each.split(" as ")[0].strip()) for each in names.split(","))
    for found in _FROM.finditer(text):
        yield Import(module=found["module"], level=len(found["dots"]), names=tuple(_IDENTIFIER.findall(found["names"])))
