"""Apply fixes by running Aider's command line."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from eikon_engine.errors import AiderMissingError, ApplierFailedError, PatchRejectedError
from eikon_engine.fix.application import AppliedFix
from eikon_engine.fix.appliers.aider_call import AiderModel, aider_arguments, aider_environment
from eikon_engine.fix.appliers.bounds import AllowedFiles
from eikon_engine.fix.appliers.difference import unified_diff
from eikon_engine.fix.appliers.hunks import read_diff
from eikon_engine.fix.appliers.line_ends import restore_line_endings
from eikon_engine.fix.appliers.tree_before import tree_snapshot
from eikon_engine.fix.appliers.write_files import read_bytes
from eikon_engine.fix.process_group import Command, run_in_group
from eikon_engine.fix.proposal import ReplaceText, TextFix
from eikon_engine.outcome.printable import escape_control_characters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.fix.appliers.tree_before import TreeSnapshot
    from eikon_engine.fix.proposal import Fix

TIMEOUT_SECONDS: Final = 600.0
MAX_OUTPUT_BYTES: Final = 64 << 10
"""Bytes of its output to store: the tail."""
OWN_FILES: Final = ".aider*"
"""Files that Aider stores for itself; they are not part of a fix."""
_DEFAULT_MODEL: Final = AiderModel()
_INSTRUCTION: Final = "Make exactly the change proposed below and nothing else. Do not run commands.\n\n"


@dataclass(frozen=True, slots=True)
class AiderApplier:
    """Pass a fix to `aider`, and check that only allowed files changed."""

    name: ClassVar[str] = "aider"
    needs_edits: ClassVar[bool] = False

    command: str = "aider"
    timeout_seconds: float = TIMEOUT_SECONDS
    aider_model: AiderModel = _DEFAULT_MODEL
    environ: Mapping[str, str] | None = None
    """Environment of the process; by default that of this process."""

    def require_installed(self) -> None:
        """Check that aider is installed, before a model is asked for a fix.

        Raises:
            AiderMissingError: it is not.
        """
        self._program(os.environ if self.environ is None else self.environ)

    def apply(self, fix: Fix, tree: Path, targets: tuple[str, ...]) -> AppliedFix:
        """Apply a fix; on any error the files are restored.

        Raises:
            AiderMissingError: it is not installed.
            ApplierFailedError: it failed or timed out.
            PatchRejectedError: it changed nothing, or a file it may not.
            GitMissingError: git is not installed.
        """
        if not isinstance(fix, TextFix):
            message = "fix: expected a change to files, got one to a trace. Use another applier."
            raise PatchRejectedError(message)
        bounds = AllowedFiles(tree=tree, targets=targets)
        names = _target_files(bounds) or _files_of_edits(fix, bounds)
        files = tuple(f"./{name}" if name.startswith("-") else name for name in names)
        with tree_snapshot(tree, (OWN_FILES,)) as before, _restored(before), _without_own_files(tree):
            output = self._run(fix, tree, files)
            changed = before.changed_files()
            if not changed:
                message = f"aider: expected a change, got none: {_last_line(output)}"
                raise PatchRejectedError(message)
            for name in changed:
                bounds.require(name)
            restore_line_endings(tree, changed, before)
            old = {name: before.content(name) for name in changed}
            diff = unified_diff(old, {name: read_bytes(tree, name) for name in changed})
        return AppliedFix(applier=self.name, files=changed, diff=diff, output=output)

    def _run(self, fix: TextFix, tree: Path, files: tuple[str, ...]) -> str:
        given = os.environ if self.environ is None else self.environ
        environ = aider_environment(given, tree, self.aider_model)
        program = self._program(environ)
        with tempfile.TemporaryDirectory(prefix="eikon-aider-") as name:
            scratch = Path(name)
            message_file = scratch / "message.md"
            message_file.write_text(_INSTRUCTION + fix.text, encoding="utf-8")
            options = aider_arguments(
                message_file, scratch, model=self.aider_model.arguments(given), has_git=(tree / ".git").exists()
            )
            return self._run_process([program, *options, *files], tree, environ)

    def _program(self, environ: Mapping[str, str]) -> str:
        program = shutil.which(self.command, path=environ.get("PATH"))
        if program is None:
            message = (
                f"--applier aider: {self.command!r} not found on PATH. Install it with "
                "'pip install aider-install && aider-install', or use --applier blocks."
            )
            raise AiderMissingError(message)
        return program

    def _run_process(self, command: list[str], tree: Path, environ: dict[str, str]) -> str:
        """Run it in its own process group; return the tail of its output."""
        output = bytearray()

        def hear(data: bytes) -> None:
            output.extend(data)
            del output[:-MAX_OUTPUT_BYTES]

        program = Command(
            arguments=command,
            cwd=tree,
            environ=environ,
            timeout_seconds=self.timeout_seconds,
            stdout=hear,
            stderr=hear,
        )
        ended = run_in_group(program)
        if ended.ending == "timed_out":
            message = f"aider: timed out after {self.timeout_seconds:g} s."
            raise ApplierFailedError(message)
        text = escape_control_characters(output.decode("utf-8", "replace"))
        if ended.exit_status != 0:
            found = f"signal {ended.signal}" if ended.exit_status is None else f"exit status {ended.exit_status}"
            message = f"aider: expected success, got {found}: {_last_line(text)}"
            raise ApplierFailedError(message)
        return text


@contextmanager
def _restored(before: TreeSnapshot) -> Iterator[None]:
    """Restore all files if the block fails."""
    try:
        yield
    except BaseException:
        before.restore()
        raise


@contextmanager
def _without_own_files(tree: Path) -> Iterator[None]:
    """Remove the files that Aider creates for itself."""
    there = set(tree.glob(OWN_FILES))
    try:
        yield
    finally:
        for path in set(tree.glob(OWN_FILES)) - there:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def _target_files(bounds: AllowedFiles) -> tuple[str, ...]:
    """Return the targets; each must be a file, or a folder of files, that may be changed."""
    for name in bounds.targets:
        bounds.require(f"{name}/any" if (bounds.tree / name).is_dir() else name)
    return bounds.targets


def _files_of_edits(fix: TextFix, bounds: AllowedFiles) -> tuple[str, ...]:
    """Return the files that the edits name, so that Aider need not search for them."""
    names: dict[str, None] = {}
    for edit in fix.edits:
        files = (edit.file,) if isinstance(edit, ReplaceText) else (each.file for each in read_diff(edit.text))
        names.update(dict.fromkeys(bounds.require(name) for name in files))
    return tuple(names)


def _last_line(output: str) -> str:
    return next((line.strip() for line in reversed(output.split("\n")) if line.strip()), "nothing")[:300]
