from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.architecture.sources import PACKAGE, sources

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 40
MAX_PARAMETERS = 6

TOO_MANY_PARAMETERS = {
    # Its first four are the mission's own signature; the rest says where the summary of the run stands.
    "errors.py:__init__",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_modules_fit_into_one_reading() -> None:
    """No module is longer than 400 lines."""
    long = [f"{source.name}: {lines}" for source in sources() if (lines := source.text.count("\n")) > MAX_MODULE_LINES]

    assert long == []


def test_functions_fit_on_one_screen() -> None:
    """No function is longer than 40 lines, from its `def` to its end."""
    long = [f"{place}: {lines}" for place, function in _functions() if (lines := _lines(function)) > MAX_FUNCTION_LINES]

    assert long == []


def test_functions_take_few_parameters() -> None:
    """No function takes more than six parameters beside self."""
    many = [
        f"{place}: {count}"
        for place, function in _functions()
        if (count := _parameters(function)) > MAX_PARAMETERS and place not in TOO_MANY_PARAMETERS
    ]

    assert many == []


def _functions() -> Iterator[tuple[str, Function]]:
    for source in sources():
        for node in ast.walk(source.tree):
            if isinstance(node, Function):
                yield f"{source.path.relative_to(PACKAGE).as_posix()}:{node.name}", node


def _lines(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def _parameters(function: Function) -> int:
    """Count what a caller gives; the parameters of a click command are its options, one by one."""
    if any("option" in ast.unparse(decorator) for decorator in function.decorator_list):
        return 0
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([name for name in names if name not in {"self", "cls"}])
