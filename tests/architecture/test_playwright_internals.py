from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from tests.architecture.sources import sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.architecture.sources import Source

INTERNALS = "eikon_engine.browser.playwright_internals"
BY_NAME = {"getattr", "setattr", "hasattr", "delattr"}
NOT_PLAYWRIGHT = {"_exit", "_get_running_loop", "_replace"}
"""Names of os, of asyncio and of named tuples."""


def test_only_one_module_imports_the_internals_of_playwright() -> None:
    """Every import of `playwright._impl` is in `playwright_internals`."""
    found = [f"{each.name}: {name}" for each in _others() for name in _imported(each.tree) if "playwright._" in name]

    assert found == []


def test_only_one_module_touches_private_attributes_of_playwright() -> None:
    """A private attribute of an object is read and set by the module that defines it, or by `playwright_internals`."""
    found = [f"{each.name}: {name}" for each in _others() for name in _foreign_private_names(each.tree)]

    assert found == []


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("page._impl_obj", ["_impl_obj"]),
        ("page._options = {}", ["_options"]),
        ("getattr(page, '_loop', None)", ["_loop"]),
        ("self._context._options", ["_options"]),
        ("self._page", []),
        ("class Own:\n    def _run(self): ...\ndef start(own): own._run()", []),
        ("page.__dict__", []),
    ],
)
def test_private_attributes_are_found(code: str, names: list[str]) -> None:
    """Reads, assignments and names in strings count; a module's own private names do not."""
    assert list(_foreign_private_names(ast.parse(code))) == names


def _others() -> Iterator[Source]:
    return (each for each in sources() if each.name != INTERNALS)


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the modules that a module imports, including `import_module` calls with a string."""
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str() as module):
                yield from (f"{module}.{alias.name}" for alias in node.names)
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str() as module), *_]):
                yield module
            case _:
                pass


def _foreign_private_names(tree: ast.Module) -> Iterator[str]:
    own = set(_defined(tree)) | NOT_PLAYWRIGHT
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                continue
            case ast.Attribute(attr=name) if _is_private(name) and name not in own:
                yield name
            case ast.Call(func=ast.Name(id=function), args=[_, ast.Constant(value=str() as name), *_]):
                if function in BY_NAME and _is_private(name) and name not in own:
                    yield name
            case _:
                pass


def _defined(tree: ast.Module) -> Iterator[str]:
    """Return the functions, fields and attributes of `self` that a module defines."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name
            case _:
                pass


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
