from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from eikon_engine import errors
from eikon_engine.errors import ActionError, EikonError
from tests.architecture.sources import PROJECT, sources

if TYPE_CHECKING:
    from collections.abc import Iterator

ERRORS_PAGE = PROJECT / "docs" / "errors.md"
TREE_LINE = re.compile(r"^ *(?P<stem>[│├└─ ]*)(?P<name>\w+Error) +(?P<status>\d+) +(?P<code>[a-z-]+|\(.*\))$")


def test_every_error_is_in_the_tree() -> None:
    """The docstring of the module draws every error, with its parent, exit status and code, and no other one."""
    drawn = dict(_drawn_tree())

    written = {cls.__name__: (cls.__bases__[0].__name__, cls.exit_status, _drawn_code(cls)) for cls in _raised()}

    assert drawn == written


def test_codes_are_unique() -> None:
    """No two errors share a code: pages, traces and programs identify errors by it."""
    every: tuple[type[EikonError], ...] = (EikonError, *_raised())
    counts = Counter(cls.code for cls in every)

    assert [code for code, count in counts.items() if count > 1] == []


def test_every_code_has_a_section() -> None:
    """docs/errors.md explains every code under a heading of its own, and no code that does not exist."""
    headings = re.findall(r"^### `([a-z-]+)`", ERRORS_PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)

    assert sorted(headings) == sorted(cls.code for cls in _raised())


def test_every_section_names_the_exit_status() -> None:
    """The exit status in a section of docs/errors.md is the exit status of the command line."""
    page = ERRORS_PAGE.read_text(encoding="utf-8")

    documented = dict(re.findall(r"^### `([a-z-]+)`\n+.*?[Ee]xit status (\d+)", page, flags=re.MULTILINE | re.DOTALL))

    assert documented == {cls.code: str(cls.exit_status) for cls in _raised()}


def test_errors_are_defined_in_one_module() -> None:
    """No module but `eikon_engine.errors` defines a subclass of EikonError."""
    for source in sources():
        __import__(source.name.removesuffix(".__main__"))

    assert {cls.__module__ for cls in _raised()} == {errors.__name__}


def _raised() -> tuple[type[EikonError], ...]:
    return tuple(_subclasses(EikonError))


def _subclasses(cls: type[EikonError]) -> Iterator[type[EikonError]]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)


def _drawn_code(cls: type[EikonError]) -> str:
    return "(one code each, see its subclasses)" if cls is ActionError else cls.code


def _drawn_tree() -> Iterator[tuple[str, tuple[str, int, str]]]:
    """Read name, parent, exit status and code from the drawing; four columns are one step down."""
    parents: dict[int, str] = {0: "EikonError"}
    for line in (errors.__doc__ or "").splitlines():
        match = TREE_LINE.match(line)
        if match is None:
            continue
        depth = (match.start("name") - len("    ")) // 4
        parents[depth] = match["name"]
        yield match["name"], (parents[depth - 1], int(match["status"]), match["code"])
