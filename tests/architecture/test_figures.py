"""Size metrics of the project: printed with the test run (`pytest -rP`), without limits."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from eikon_engine import errors
from tests.architecture.sources import Function, Source, functions_of, sources

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALL_MODULE_LINES = 40
SHOWN = 10
NO_CODE = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """The metrics of one package."""

    modules: int
    lines: int
    code_lines: int
    """Lines that hold code: neither blank, nor comment, nor docstring."""
    small_modules: int
    """Modules below 40 lines of code, packages' `__init__` aside."""
    median_module: float
    """In lines of code."""
    functions: int
    median_function: float
    """In lines, from `def` to the last line."""
    error_classes: int
    largest_modules: tuple[tuple[int, str], ...]
    """Lines of code and name."""
    largest_classes: tuple[tuple[int, str], ...]
    """Number of methods and name."""
    longest_functions: tuple[tuple[int, str], ...]
    """Lines and name."""
    most_parameters: tuple[tuple[int, str], ...]


def test_figures_can_be_computed() -> None:
    """All metrics of the package are computed and printed; none is limited."""
    figures = _measure(sources())

    sys.stdout.write(_render(figures))

    assert figures.modules == len(sources())
    assert figures.lines > figures.code_lines > figures.functions > figures.modules > figures.small_modules
    assert figures.error_classes > 1
    assert all(
        count > 0
        for rows in (figures.largest_modules, figures.largest_classes, figures.longest_functions)
        for count, _ in rows
    )


def test_code_lines_exclude_prose() -> None:
    """Blank lines, comments and docstrings are not code; a string that is a value is."""
    source = (
        '"""Say.\n\nMore.\n"""\n\n# why\nx = """a\nb"""  # note\n\n\ndef f() -> int:\n    """Return."""\n    return 1\n'
    )

    assert _code_lines(source, ast.parse(source)) == 4


def _measure(modules: tuple[Source, ...]) -> Figures:
    code = {source.name: _code_lines(source.text, source.tree) for source in modules}
    own = {source.name for source in modules if source.path.name != "__init__.py"}
    functions = [(f"{source.name}.{node.name}", node) for source in modules for node in functions_of(source.tree)]
    lengths = [(_lines(node), name) for name, node in functions]
    return Figures(
        modules=len(modules),
        lines=sum(source.text.count("\n") for source in modules),
        code_lines=sum(code.values()),
        small_modules=sum(code[name] < SMALL_MODULE_LINES for name in own),
        median_module=median(code[name] for name in own),
        functions=len(functions),
        median_function=median(length for length, _ in lengths),
        error_classes=sum(isinstance(value, type) for value in vars(errors).values()),
        largest_modules=_largest((count, name) for name, count in code.items()),
        largest_classes=_largest(_class_sizes(modules)),
        longest_functions=_largest(lengths),
        most_parameters=_largest((_parameters(node), name) for name, node in functions),
    )


def _render(figures: Figures) -> str:
    lines = [
        f"{figures.modules} modules, {figures.lines} lines, {figures.code_lines} of them code",
        f"{figures.small_modules} modules below {SMALL_MODULE_LINES} code lines; median {figures.median_module:g}",
        f"{figures.functions} functions; median {figures.median_function:g} lines",
        f"{figures.error_classes} error classes",
    ]
    for title, rows in (
        ("largest modules (code lines)", figures.largest_modules),
        ("largest classes (methods)", figures.largest_classes),
        ("longest functions (lines)", figures.longest_functions),
        ("most parameters", figures.most_parameters),
    ):
        lines += [f"{title}:", *(f"  {count:5}  {name}" for count, name in rows)]
    return "\n".join([*lines, ""])


def _largest(rows: Iterator[tuple[int, str]] | list[tuple[int, str]]) -> tuple[tuple[int, str], ...]:
    return tuple(sorted(rows, reverse=True)[:SHOWN])


def _class_sizes(modules: tuple[Source, ...]) -> Iterator[tuple[int, str]]:
    for source in modules:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                yield sum(isinstance(child, Function) for child in node.body), f"{source.name}.{node.name}"


def _code_lines(text: str, tree: ast.Module) -> int:
    prose = {line for node in ast.walk(tree) for line in _docstring_lines(node)}
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            code.update(range(token.start[0], token.end[0] + 1))
    return len(code - prose)


def _docstring_lines(node: ast.AST) -> range:
    """Return the lines of a string that is a statement: a docstring, or the description of a field."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return range(0)


def _lines(function: Function) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def _parameters(function: Function) -> int:
    """Count parameters except `self`; parameters of a click command are its options and do not count."""
    if any("option" in ast.unparse(decorator) for decorator in function.decorator_list):
        return 0
    arguments = function.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([name for name in names if name not in {"self", "cls"}])
