from __future__ import annotations

import ast

from tests.architecture.sources import sources

EMPTY_WORDS = frozenset(
    "util utils helper helpers manager managers service services handler handlers base common misc".split()  # noqa: SIM905 - a list of words
)


def test_modules_are_named_after_what_they_do() -> None:
    """No module or package has a name that fits any content, such as `utils`."""
    empty = [
        source.name
        for source in sources()
        if EMPTY_WORDS
        & {word for part in source.name.split(".") for word in part.replace("base_url", "url").split("_")}
    ]

    assert empty == []


def test_public_names_are_listed_in_order() -> None:
    """Every `__all__` is sorted and without repetitions."""
    unsorted = [source.name for source in sources() for names in _exports(source.tree) if names != sorted(set(names))]

    assert unsorted == []


def test_packages_only_re_export() -> None:
    """An `__init__` holds a docstring, imports and `__all__`, and nothing that runs."""
    busy = [
        f"{source.name}, line {node.lineno}"
        for source in sources()
        if source.path.name == "__init__.py"
        for node in source.tree.body
        if not _re_exports(node)
    ]

    assert busy == []


def _exports(tree: ast.Module) -> list[list[str]]:
    return [
        [str(name) for name in ast.literal_eval(node.value)]
        for node in tree.body
        if isinstance(node, ast.Assign) and _is_all(node.targets[0])
    ]


def _re_exports(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Constant(value=str())) | ast.Import() | ast.ImportFrom():
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id="_MODULES")]) | ast.FunctionDef(name="__getattr__" | "__dir__"):
            return True  # names that are imported on first use: docs/adr/0012
        case ast.Assign(targets=[target]):
            return _is_all(target)
        case _:
            return False


def _is_all(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == "__all__"
