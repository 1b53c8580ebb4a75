"""Split files into pieces that can be read by themselves: functions, classes, and the code in between."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

WINDOW_LINES: Final = 40
"""Lines of a piece if nothing marks its start."""
MAX_CHUNK_LINES: Final = 120
"""Maximum number of lines of a piece; longer ones are split into windows."""
_DEFINED: Final = re.compile(
    r"^(?:[ \t]*(?:export |default |async |pub |static )*(?:def|class|function\*?|func|fn|interface|struct|enum)"
    r"|(?:export )?(?:const|let|var|type))\s+([A-Za-z_$][\w$]*)",
    re.MULTILINE,
)
"""Definitions in common languages; variables only at column 0."""
_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Lines `first` to `last` of a file, from 1."""

    file: str
    first: int
    last: int
    text: str
    symbols: frozenset[str]
    """Names defined in it."""


@lru_cache(maxsize=1 << 13)
def split_chunks(file: str, text: str) -> tuple[Chunk, ...]:
    """Split a file into adjacent pieces without gaps."""
    lines = lines_of(text)
    starts = _python_starts(text, lines) if file.endswith((".py", ".pyi")) else None
    bounds = _windows(1, len(lines) + 1) if starts is None else _bounded(starts, len(lines) + 1)
    return tuple(_chunk(file, lines, first, end) for first, end in bounds)


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their endings, counted as in tracebacks: a form feed does not end a line."""
    return StringIO(text).readlines()


def _chunk(file: str, lines: Sequence[str], first: int, end: int) -> Chunk:
    text = "".join(lines[first - 1 : end - 1])
    return Chunk(file=file, first=first, last=end - 1, text=text, symbols=frozenset(_DEFINED.findall(text)))


def _python_starts(text: str, lines: Sequence[str]) -> list[int] | None:
    """Return the start lines of the pieces of a module; None if it cannot be parsed."""
    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return sorted({1, *_starts(module.body, lines)})


def _starts(body: Iterable[ast.stmt], lines: Sequence[str]) -> Iterator[int]:
    """Yield the start lines of definitions, including decorators and comments, and of code after them."""
    follows = False
    for node in body:
        if isinstance(node, _Definition):
            yield _with_comments(min((node.lineno, *(each.lineno for each in node.decorator_list))), lines)
            if isinstance(node, ast.ClassDef) and (node.end_lineno or node.lineno) - node.lineno > WINDOW_LINES:
                yield from _starts(node.body, lines)
        elif follows:
            yield node.lineno
        follows = isinstance(node, _Definition)


def _with_comments(line: int, lines: Sequence[str]) -> int:
    while line > 1 and lines[line - 2].lstrip().startswith("#"):
        line -= 1
    return line


def _bounded(starts: Sequence[int], end: int) -> Iterator[tuple[int, int]]:
    for first, behind in zip(starts, (*starts[1:], end), strict=True):
        if behind - first > MAX_CHUNK_LINES:
            yield from _windows(first, behind)
        elif behind > first:
            yield first, behind


def _windows(first: int, end: int) -> Iterator[tuple[int, int]]:
    for begin in range(first, end, WINDOW_LINES):
        yield begin, min(begin + WINDOW_LINES, end)
