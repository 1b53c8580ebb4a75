"""Apply fixes by running Aider's command line, so that it asks nothing, runs nothing, and changes only allowed files.

The tree is stored in a separate git repository before, so that what Aider changed can be detected and undone.

Source of the options and variables: https://aider.chat/docs/config/options.html, and the observed behavior of Aider
0.86.2 (`benchmarks/real_aider.py`).
"""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from eikon_engine.errors import ApplierFailedError, FixError, RequirementError
from eikon_engine.files.temporary import temporary_folder
from eikon_engine.fix.appliers.edit_text import read_diff
from eikon_engine.fix.appliers.file_changes import read_bytes, unified_diff
from eikon_engine.fix.change_policy import AllowedFiles
from eikon_engine.fix.git import run_isolated_git, without_git_variables
from eikon_engine.fix.models import AppliedFix, ReplaceText
from eikon_engine.llm.openai_client import URL_VARIABLE
from eikon_engine.outcome.terminal import escape_control_characters
from eikon_engine.process_group import Command, run_in_group

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from eikon_engine.fix.models import TextFix

_NON_INTERACTIVE: Final = (
    "--yes-always", "--no-auto-commits", "--no-dirty-commits", "--no-gitignore", "--no-auto-lint", "--no-auto-test",
    "--no-check-update", "--no-show-release-notes", "--no-show-model-warnings", "--no-suggest-shell-commands",
    "--no-detect-urls", "--no-analytics", "--no-stream", "--no-pretty",
)  # fmt: skip
"""Linting is on by default: it sends up to three more requests about existing code."""
_MODEL_VARIABLE: Final = "AIDER_MODEL"
_URL_VARIABLE: Final = "AIDER_OPENAI_API_BASE"
_OPENAI_PREFIX: Final = "openai/"
_LOCAL_PRICES: Final = "LITELLM_LOCAL_MODEL_COST_MAP"
_GIT_USER: Final[Mapping[str, str]] = {
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "user.name",
    "GIT_CONFIG_VALUE_0": "nobody",
    "GIT_CONFIG_KEY_1": "user.email",
    "GIT_CONFIG_VALUE_1": "nobody@localhost",
}
"""Aider writes a user name to `.git/config` if git has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AiderModel:
    """The model that Aider uses: the one that generates fixes, unless Aider's own settings name another."""

    model: str | None = None
    base_url: str | None = None

    def arguments(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Return the options that select the model; empty if Aider's settings decide."""
        found: list[str] = []
        if self.model is not None and not environ.get(_MODEL_VARIABLE):
            name = self.model if self.model.startswith(_OPENAI_PREFIX) else f"{_OPENAI_PREFIX}{self.model}"
            found += ["--model", name, "--weak-model", name]
        if self.base_url is not None and not environ.get(_URL_VARIABLE):
            found += ["--openai-api-base", self.base_url]
        return tuple(found)

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the variable that Aider's client library reads first, consistent with the options."""
        return {} if self.base_url is None or environ.get(_URL_VARIABLE) else {URL_VARIABLE: self.base_url}


def aider_arguments(message: Path, scratch: Path, *, model: Sequence[str], has_git: bool) -> list[str]:
    """Return all options except the files; histories are written to `scratch`.

    Without `--no-git` Aider would create a repository.
    """
    histories = (
        part for kind in ("chat", "input") for part in (f"--{kind}-history-file", str(scratch / f"{kind}.history"))
    )
    return ["--message-file", str(message), *_NON_INTERACTIVE, *(() if has_git else ("--no-git",)), *histories, *model]


def aider_environment(environ: Mapping[str, str], tree: Path, aider_model: AiderModel) -> dict[str, str]:
    """Return the environment: no repository above the tree, bundled model prices, no lookup of newer ones."""
    return {
        _LOCAL_PRICES: "True",
        **without_git_variables(environ),
        **aider_model.environment(environ),
        **_GIT_USER,
        "GIT_CEILING_DIRECTORIES": str(tree.parent),
    }


def restore_line_endings(tree: Path, names: Sequence[str], before: TreeSnapshot) -> None:
    """Rewrite files that had CRLF on every line and lost it; permissions are kept.

    Raises:
        FixError: a file had mixed line endings, which cannot be restored.
    """
    for name in names:
        old, path = before.content(name), tree / name
        if old is None or b"\r\n" not in old or not path.is_file():
            continue
        new = path.read_bytes()
        if new.count(b"\r\n") == new.count(b"\n"):
            continue
        if old.count(b"\r\n") != old.count(b"\n"):
            message = f"fix for {name!r}: expected uniform line endings, got LF and CRLF. Normalize them first."
            raise FixError(message, code="patch-rejected")
        path.write_bytes(new.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))


_NO_CONVERSION: Final = "* -text -filter -ident -working-tree-encoding\n"
"""Attributes that preserve every byte, whatever those of the folder say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSnapshot:
    """Snapshot of a folder."""

    root: Path
    repository: Path
    tree_id: str
    """Git tree id of the snapshot."""

    def changed_files(self) -> tuple[str, ...]:
        """Return the files that changed since, relative to the folder, sorted."""
        now = _store_tree(self.root, self.repository)
        listed = self._git("diff-tree", "-r", "-z", "--name-only", "--no-renames", self.tree_id, now)
        return tuple(sorted(name.decode("utf-8", "surrogateescape") for name in listed.split(b"\0") if name))

    def content(self, name: str) -> bytes | None:
        """Return the content of a file in the snapshot; None if it did not exist."""
        if not self._git("ls-tree", "-z", self.tree_id, "--", name):
            return None
        return self._git("cat-file", "blob", f"{self.tree_id}:{name}")

    def restore(self) -> None:
        """Restore all files, and remove new ones."""
        self._git("read-tree", "--reset", "-u", self.tree_id)

    def _git(self, *arguments: str) -> bytes:
        return run_isolated_git(arguments, self.root, env=_git_env(self.root, self.repository))


@contextmanager
def tree_snapshot(root: Path, ignored: Sequence[str] = ()) -> Iterator[TreeSnapshot]:
    """Snapshot a folder for the duration of the block; `ignored` are patterns of files to exclude.

    Raises:
        RequirementError: git is not installed.
        ApplierFailedError: git failed.
    """
    with temporary_folder("snapshot") as folder:
        repository = folder / "before"
        run_isolated_git(("init", "--quiet", "--bare", "--template=", str(repository)), folder)
        (repository / "info").mkdir(exist_ok=True)
        (repository / "info" / "attributes").write_text(_NO_CONVERSION, encoding="utf-8")
        (repository / "info" / "exclude").write_text("".join(f"{each}\n" for each in ignored), encoding="utf-8")
        yield TreeSnapshot(root=root, repository=repository, tree_id=_store_tree(root, repository))


def _store_tree(root: Path, repository: Path) -> str:
    settings = _git_env(root, repository)
    run_isolated_git(("-c", "core.compression=0", "add", "--all", "--", "."), root, env=settings)
    return run_isolated_git(("write-tree",), root, env=settings).decode().strip()


def _git_env(root: Path, repository: Path) -> dict[str, str]:
    return {"GIT_DIR": str(repository), "GIT_WORK_TREE": str(root)}


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
            RequirementError: it is not.
        """
        self._program(os.environ if self.environ is None else self.environ)

    def apply(self, fix: TextFix, tree: Path, targets: tuple[str, ...]) -> AppliedFix:
        """Apply a fix; on any error the files are restored.

        Raises:
            RequirementError: it is not installed; git is not installed.
            ApplierFailedError: it failed or timed out.
            FixError: it changed nothing, or a file it may not.
        """
        bounds = AllowedFiles(tree=tree, targets=targets)
        names = _target_files(bounds) or _files_of_edits(fix, bounds)
        files = tuple(f"./{name}" if name.startswith("-") else name for name in names)
        with tree_snapshot(tree, (OWN_FILES,)) as before, _restored(before), _without_own_files(tree):
            output = self._run(fix, tree, files)
            changed = before.changed_files()
            if not changed:
                message = f"aider: expected a change, got none: {_last_line(output)}"
                raise FixError(message, code="patch-rejected")
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
        with temporary_folder("aider") as scratch:
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
            raise RequirementError(message, code="aider-missing")
        return program

    def _run_process(self, command: list[str], tree: Path, environ: dict[str, str]) -> str:
        """Run it in its own process group; return the tail of its output."""
        output = bytearray()

        def collect(data: bytes) -> None:
            output.extend(data)
            del output[:-MAX_OUTPUT_BYTES]

        program = Command(
            arguments=command,
            cwd=tree,
            environ=environ,
            timeout_seconds=self.timeout_seconds,
            stdout=collect,
            stderr=collect,
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
