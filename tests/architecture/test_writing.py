"""Files and folders are created by `files.writing`, so that recorded content is for its user only."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tests.architecture.sources import sources

if TYPE_CHECKING:
    from collections.abc import Iterator

CREATING = {"mkdir", "makedirs", "write_text", "write_bytes", "copytree", "copyfile", "copy2", "copy"}
OTHERS = {
    "eikon_engine.browser.actions.pointer",  # in a temporary folder
    "eikon_engine.cli.repl_prompt",  # its history, in a folder of mode 0700
    "eikon_engine.cli.standard_streams",  # the null device
    "eikon_engine.debug.prompt",  # its history, of mode 0600
    "eikon_engine.files.locking",  # empty files of mode 0600
    "eikon_engine.files.writing",
    "eikon_engine.fix.appliers.aider",  # a copy of the user's source code
    "eikon_engine.fix.appliers.file_changes",  # the user's source code
    "eikon_engine.fix.run_script",  # in the folder of a session, of mode 0700
    "eikon_engine.fix.session",  # that folder
    "eikon_engine.fix.work_copy",  # a copy of the user's source code
    "eikon_engine.fix.write_back",  # the user's source code
    "eikon_engine.pytest_plugin",  # snapshots of skills, beside the user's tests
    "eikon_engine.suite.object_storage",  # folders of a storage
    "eikon_engine.suite.results",  # a journal of mode 0600
}
"""Modules that create files or folders themselves, and why that is right."""


def test_files_and_folders_are_created_in_one_module() -> None:
    """A module that creates some itself does so for a reason."""
    found = {each.name for each in sources() if any(_creates(node) for node in ast.walk(each.tree))}

    assert found == OTHERS


def _creates(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute) and node.attr == "O_CREAT":
        return True
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in CREATING - {"copy"}:
        return True
    if name == "copy":
        return isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") == "shutil"
    return name == "open" and any(mode[:1] in {"w", "a", "x"} for mode in _modes(node))


def _modes(call: ast.Call) -> Iterator[str]:
    for each in (*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "mode")):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.value
