"""Write Python source from untrusted texts: every text is a literal or a comment, lines are wrapped."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MAX_LINE_LENGTH: Final = 120
_INDENT: Final = "    "
_MAX_EXACT_INT: Final = 2**53
_QUOTES: Final = '"""'
_CHARACTER: Final = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)|[^\\]", re.DOTALL)
_LITERAL: Final = re.compile(r'r?"(?:[^"\\]|\\.)*"|' + r"r?'(?:[^'\\]|\\.)*'", re.DOTALL)
_OPENING: Final = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True, slots=True)
class Block:
    """A compound statement: a header with a colon and an indented body."""

    header: str
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A call whose last argument is a list, written one row per line."""

    before: str
    """Source before the bracket of the list."""
    rows: tuple[tuple[str, ...], ...]
    after: str = ")"


Statement: TypeAlias = str | Block | Grid
"""A line of code, or a group of lines."""


def string_literal(text: str) -> str:
    r"""Write a text as a literal on one line.

    Uses `repr`, with double quotes if that needs no additional escapes, so non-printable characters such as line
    separators and lone surrogates are escaped.
    """
    plain = repr(text)
    if '"' in text:
        return plain
    return '"' + re.sub(r"\\(.)", lambda found: "'" if found[1] == "'" else found[0], plain[1:-1]) + '"'


def regex_literal(pattern: str) -> str:
    """Write a regular expression as a literal, raw if possible."""
    simple = pattern.isprintable() and '"' not in pattern and not pattern.endswith("\\")
    return f'r"{pattern}"' if simple else string_literal(pattern)


def call_source(name: str, /, *arguments: str, **options: object) -> str:
    """Write a call; options that are None are omitted."""
    given = [f"{key}={value_source(value)}" for key, value in options.items() if value is not None]
    return f"{name}({', '.join((*arguments, *given))})"


def value_source(value: object) -> str:
    """Write a value of strings, numbers, lists and dictionaries."""
    match value:
        case str():
            return string_literal(value)
        case list() | tuple():
            return f"[{', '.join(map(value_source, value))}]"
        case dict():
            return f"{{{', '.join(f'{value_source(key)}: {value_source(each)}' for key, each in value.items())}}}"
        case float() if value.is_integer() and abs(value) < _MAX_EXACT_INT:
            return str(int(value))
        case _:
            return repr(value)


def to_one_line(text: str) -> str:
    """Return a text on one line, whitespace collapsed and non-printable characters escaped."""
    squeezed = " ".join(text.split())
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in squeezed)


def comment_lines(text: str, width: int = MAX_LINE_LENGTH - len(_INDENT) * 3) -> tuple[str, ...]:
    """Write a text as comment lines."""
    return tuple(f"# {line}" for line in textwrap.wrap(to_one_line(text), width - 2)) or ("#",)


def docstring_source(paragraphs: Sequence[str]) -> str:
    """Write a docstring; a paragraph that starts with a dash is a list item."""
    lines: list[str] = []
    for paragraph in paragraphs:
        shown = to_one_line(paragraph)
        item = shown.startswith("- ")
        if lines and not (item and lines[-1].startswith(("- ", "  "))):
            lines.append("")
        odd = "\\" in shown or _QUOTES in shown
        width = (
            MAX_LINE_LENGTH // 2 - len(_QUOTES) if odd else MAX_LINE_LENGTH - 2 * len(_QUOTES)
        )  # an escape doubles the length
        wrapped_lines = textwrap.wrap(shown, width, subsequent_indent="  " if item else "") or [""]
        lines += (each.replace("\\", "\\\\").replace('"', '\\"') if odd else each for each in wrapped_lines)
    end = "\n" if len(lines) > 1 or lines[-1].endswith('"') else ""
    return _QUOTES + ("\\" if lines[0].startswith('"') else "") + "\n".join(lines) + end + _QUOTES


def render_statements(statements: Iterable[Statement], depth: int = 0) -> Iterator[str]:
    """Yield the lines of statements."""
    indent = _INDENT * depth
    for statement in statements:
        match statement:
            case str():
                yield from wrap_line(statement, indent)
            case Block(header=header, body=body):
                yield from wrap_line(header, indent)
                yield from render_statements(body if any(map(_is_code, body)) else (*body, "pass"), depth + 1)
            case Grid(before=before, rows=rows, after=after):
                yield from _wrap_grid(before, rows, after, indent)


def _is_code(statement: Statement) -> bool:
    return not isinstance(statement, str) or not statement.startswith("#")


def wrap_line(line: str, indent: str, *, reserved: int = 0) -> list[str]:
    """Wrap a long logical line, leaving `reserved` columns free: at the last brackets first, then at earlier ones."""
    if len(indent) + len(line) + reserved <= MAX_LINE_LENGTH or line.startswith("#"):
        return [indent + line] if line else [""]
    parts = _split_brackets(line)
    groups = [place for place, part in enumerate(parts) if part[0] in _OPENING and len(part) > len("()")]
    for count in range(1, len(groups) + 1):
        lines = _explode(parts, set(groups[-count:]), indent)
        if all(len(each) <= MAX_LINE_LENGTH for each in lines):
            return lines
    if groups:
        return _explode(parts, set(groups), indent)
    literal = max(_LITERAL.finditer(line), key=lambda found: len(found[0]), default=None)
    if literal is None:
        return [indent + line]
    head, tail = line[: literal.start()], line[literal.end() :]
    pieces = _split_literal(literal[0], MAX_LINE_LENGTH - len(indent) - len(_INDENT))
    return [f"{indent}{head}(", *(indent + _INDENT + each for each in pieces), f"{indent}){tail}"]


def _explode(parts: list[str], chosen: set[int], indent: str) -> list[str]:
    """Write the chosen brackets over several lines."""
    lines = [indent]
    for place, part in enumerate(parts):
        if place not in chosen:
            lines[-1] += part
            continue
        lines[-1] += part[0]
        arguments = _split_arguments(part[1:-1])
        for argument in arguments:
            lines += _wrap_argument(argument, indent + _INDENT, alone=len(arguments) == 1)
        lines.append(indent + part[-1])
    return lines


def _wrap_argument(argument: str, indent: str, *, alone: bool) -> list[str]:
    if len(indent) + len(argument) + 1 <= MAX_LINE_LENGTH:
        return [indent + argument + ("" if argument.startswith("*") and alone else ",")]
    if _LITERAL.fullmatch(argument):
        around = "" if alone else _INDENT
        pieces = [
            indent + around + each for each in _split_literal(argument, MAX_LINE_LENGTH - len(indent + around) - 1)
        ]
        return [*pieces[:-1], pieces[-1] + ","] if alone else [indent + "(", *pieces, indent + "),"]
    lines = wrap_line(argument, indent, reserved=len(","))
    wrapped = [*lines[:-1], f"{lines[-1]},"]
    if max(map(len, wrapped)) <= MAX_LINE_LENGTH:
        return wrapped
    *lines, last = (line for each in _split_entry(argument) for line in _wrap_concatenation(each, indent))
    return [*lines, f"{last},"]


def _split_entry(argument: str) -> Iterator[str]:
    """Split a dictionary entry after its colon; other arguments stay whole."""
    *keys, value = _split_arguments(argument, at=":")
    yield from (f"{key}:" for key in keys)
    yield value


def _wrap_concatenation(argument: str, indent: str) -> Iterator[str]:
    """Write the operands of a string concatenation, one or more lines each."""
    for number, each in enumerate(_split_arguments(argument, at="+")):
        sign = "+ " if number else ""
        colon = ":" if each.endswith(":") else ""
        text = each.removesuffix(":")
        first, *more = _split_literal(text, MAX_LINE_LENGTH - len(indent) - 4) if _LITERAL.fullmatch(text) else [text]
        *lines, last = [f"{indent}{sign}{first}", *(indent + piece for piece in more)]
        yield from (*lines, last + colon)


def _wrap_grid(before: str, rows: tuple[tuple[str, ...], ...], after: str, indent: str) -> Iterator[str]:
    flat = f"{before}[{', '.join(cell for row in rows for cell in row)}]{after}"
    if len(indent) + len(flat) <= MAX_LINE_LENGTH and len({len(row) for row in rows}) <= 1 >= max(
        map(len, rows), default=0
    ):
        yield indent + flat
        return
    *head, last = wrap_line(before, indent) if len(indent + before) < MAX_LINE_LENGTH else [indent + before]
    yield from (*head, last + "[")
    inner = indent + _INDENT
    for row in rows:
        line = f"{inner}{', '.join(row)},"
        if len(line) <= MAX_LINE_LENGTH:
            yield line
            continue
        for cell in row:
            yield from _wrap_argument(cell, inner, alone=False)
    yield f"{indent}]{after}"


def _split_literal(literal: str, width: int) -> list[str]:
    """Split a literal into adjacent literals."""
    start = literal.index(literal[-1])
    prefix, quote = literal[:start], literal[-1]
    room = max(width - len(prefix) - 2, 12)
    pieces = [""]
    for atom in _CHARACTER.findall(literal[start + 1 : -1]):
        if len(pieces[-1]) + len(atom) > room:
            cut = pieces[-1].rfind(" ") + 1
            kept, rest = (pieces[-1][:cut], pieces[-1][cut:]) if cut > room // 2 else (pieces[-1], "")
            pieces[-1:] = [kept, rest]
        pieces[-1] += atom
    return [f"{prefix}{quote}{piece}{quote}" for piece in pieces]


def _split_brackets(line: str) -> list[str]:
    """Split a line into bracketed parts and the parts between them."""
    parts: list[str] = [""]
    depth = 0
    for token in _tokens(line):
        if token in _OPENING:
            if depth == 0:
                parts.append("")
            depth += 1
            parts[-1] += token
        elif token in _OPENING.values():
            depth -= 1
            parts[-1] += token
            if depth == 0:
                parts.append("")
        else:
            parts[-1] += token
    return [part for part in parts if part]


def _split_arguments(text: str, *, at: str = ",") -> list[str]:
    """Split at commas (or `at`) outside nested brackets."""
    arguments = [""]
    depth = 0
    for sign in _tokens(text):
        depth += (sign in _OPENING) - (sign in _OPENING.values())
        if sign == at and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += sign
    return [each.strip() for each in arguments if each.strip()]


def _tokens(text: str) -> Iterator[str]:
    """Yield string literals whole, and all other characters one by one."""
    place = 0
    while place < len(text):
        found = _LITERAL.match(text, place)
        token = found[0] if found is not None else text[place]
        yield token
        place += len(token)
