from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from eikon_engine import errors
from eikon_engine.errors import ActionError, EikonError
from tests.architecture.sources import PROJECT, sources

if TYPE_CHECKING:
    from collections.abc import Iterator

ERRORS_PAGE = PROJECT / "docs" / "errors.md"
TREE_LINE = re.compile(r"^ *(?P<stem>[│├└─ ]*)(?P<name>\w+Error) +(?P<status>\d+) +(?P<code>[a-z-]+|\(.*\))$")


def test_every_error_is_in_the_tree() -> None:
    """The docstring of the module draws every class, with its parent, exit status and code, and no other one."""
    drawn = dict(_drawn_tree())

    written = {cls.__name__: (cls.__bases__[0].__name__, cls.exit_status, cls.code) for cls in _raised()}

    assert drawn == written


def test_codes_are_unique() -> None:
    """No two errors share a code: pages, traces and programs identify errors by it."""
    counts = Counter([EikonError.code, *(code for code, _ in _codes())])

    assert [code for code, count in counts.items() if count > 1] == []


def test_only_codes_of_a_class_are_accepted() -> None:
    """A code that its class does not list, hence no page explains, cannot be raised."""
    assert ActionError("gone", code="target-missing").code == "target-missing"
    with pytest.raises(ValueError, match="ActionError has no code 'target-mising'"):
        ActionError("gone", code="target-mising")


def test_codes_in_the_source_are_codes_of_their_class() -> None:
    """Every error that a module creates with a code has a code of its class."""
    classes = {cls.__name__: cls for cls in _raised()}

    wrong = [
        f"{source.name}, line {call.lineno}: {call.func.id} {code.value.value!r}"
        for source in sources()
        for call in ast.walk(source.tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in classes
        for code in call.keywords
        if code.arg == "code" and isinstance(code.value, ast.Constant)
        if code.value.value not in classes[call.func.id].codes
    ]

    assert wrong == []


def test_every_code_has_a_section() -> None:
    """docs/errors.md explains every code under a heading of its own, and no code that does not exist."""
    headings = re.findall(r"^### `([a-z-]+)`", ERRORS_PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)

    assert sorted(headings) == sorted(code for code, _ in _codes())


def test_every_section_names_the_exit_status() -> None:
    """The exit status in a section of docs/errors.md is the exit status of the command line."""
    page = ERRORS_PAGE.read_text(encoding="utf-8")

    documented = dict(re.findall(r"^### `([a-z-]+)`\n+.*?[Ee]xit status (\d+)", page, flags=re.MULTILINE | re.DOTALL))

    assert documented == {code: str(cls.exit_status) for code, cls in _codes()}


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


def _codes() -> Iterator[tuple[str, type[EikonError]]]:
    """Yield each code with its class."""
    for cls in _raised():
        yield cls.code, cls
        yield from ((code, cls) for code in vars(cls).get("codes", ()))


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
