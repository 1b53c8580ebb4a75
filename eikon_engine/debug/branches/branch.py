"""A branch on disk: a bundle, its origin, the changes from one to the other, and changing its steps.

```
branches/FOLDER/
├── trace.json …    the bundle; replays ignore the rest
├── origin.json     the trace of the recording that all branches descend from
└── branch.json     the parent, the fork, and the changes from origin.json to trace.json
```

The folder is named after the branch, made safe for all file systems; `branch.json` has the exact name.

`branch.json` is written before `trace.json`: if the process is killed in between, opening the branch rebuilds
the trace.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from pydantic import AwareDatetime, Field, ValidationError

from eikon_engine.errors import SessionError, UsageError
from eikon_engine.files.limits import read_document, read_file
from eikon_engine.files.models import FileModel, validation_error
from eikon_engine.files.paths import safe_file_name
from eikon_engine.files.writing import write_atomically
from eikon_engine.outcome.debug_events import MAIN_BRANCH
from eikon_engine.trace.bundle import Bundle, open_bundle
from eikon_engine.trace.edit_arguments import build_edit, build_insertion
from eikon_engine.trace.edits import DeleteStep, SetFields
from eikon_engine.trace.execution import ActionTrace, Blocked
from eikon_engine.trace.patch import SetTimeline, TracePatch, apply_patch
from eikon_engine.trace.steps import iter_steps, without_identities
from eikon_engine.trace.trace_file import TRACE_FILE, read_trace, serialize_trace, write_trace

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.patch import Operation
    from eikon_engine.trace.steps import Step

BRANCH_FILE: Final = "branch.json"
ORIGIN_FILE: Final = "origin.json"
MAX_NAME_LENGTH: Final = 100


class BranchFile(FileModel):
    """Origin and changes of a branch: `branch.json`."""

    branch_version: Literal[1] = 1
    name: str = Field(min_length=1, max_length=MAX_NAME_LENGTH)
    """Exact name; printable."""
    parent: str
    """Name of the parent branch, or `main`."""
    parent_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Digest of the parent's `trace.json` at the fork."""
    fork_point: str
    """Id of the checkpoint where it was forked."""
    fork_iteration: int = Field(ge=0)
    """Number of steps shared with the parent."""
    created: AwareDatetime
    is_live: bool = False
    """Whether requests missing from all recordings go to the network."""
    recorded_answers: int = Field(ge=0)
    """Number of exchanges in the recording; branches appended the later ones."""
    before_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    """Digest of the branch's `trace.json` before its last change; None before the first one."""
    patch: TracePatch = TracePatch()
    """From `origin.json` to `trace.json`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchBundle:
    """A branch read from disk."""

    file: BranchFile
    bundle: Bundle
    origin: ExecutionTrace
    """The recording it descends from."""

    @property
    def trace(self) -> ExecutionTrace:
        """Return its trace."""
        return self.bundle.trace

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return its steps in order."""
        return tuple(step for _, step in iter_steps(self.trace))

    @property
    def known_count(self) -> int:
        """Return the number of steps before the first one with an unknown result.

        Up to there, a replay is sealed by the timeline of the bundle; after it, responses are served on request.
        """
        steps = self.steps
        return next((number for number, step in enumerate(steps) if not is_known_step(step)), len(steps))


def is_known_step(step: Step) -> bool:
    """Return whether the recording of a step is still valid: neither it nor an earlier step was changed."""
    if not isinstance(step, ActionTrace) or isinstance(step.result, Blocked):
        return True
    return step.timing is None or step.observation is not None


def require_branch_name(name: str) -> str:
    """Return a valid branch name.

    Raises:
        UsageError: the name is invalid.
    """
    is_name = 0 < len(name) <= MAX_NAME_LENGTH and name.isprintable() and name == name.strip()
    if not is_name or name == MAIN_BRANCH:
        found = repr(name) if len(name) <= MAX_NAME_LENGTH else f"{len(name)} characters"
        message = f"expected a branch name (printable, no surrounding whitespace, at most {MAX_NAME_LENGTH} characters"
        raise UsageError(f"{message}, not {MAIN_BRANCH}), got {found}; choose another name", code="branch")
    return name


def new_branch_folder(branches: Path, name: str) -> Path:
    """Return an unused folder for a new branch, unique even if case is ignored.

    Raises:
        UsageError: a branch with this name exists.
    """
    there = [each for each in branches.iterdir() if each.is_dir()] if branches.is_dir() else []
    if any(is_branch_bundle(each) and read_branch_file(each).name == name for each in there):
        message = f"{branches}: a branch {name} already exists; choose another name"
        raise UsageError(message, code="branch")
    safe = safe_file_name(name, "branch")
    taken = {each.name.casefold() for each in branches.glob("*")}
    number, free = 2, safe
    while free.casefold() in taken:
        number, free = number + 1, f"{safe}-{number}"
    return branches / free


def is_branch_bundle(root: Path) -> bool:
    """Return whether a bundle is a branch."""
    return (root / BRANCH_FILE).is_file()


def open_branch(root: Path) -> BranchBundle:
    """Read a branch; complete an interrupted change.

    Raises:
        UsageError: no such branch.
        SessionError: its trace does not match its changes: it was modified outside the session.
        TraceError: its bundle cannot be read.
    """
    file = read_branch_file(root)
    origin = read_trace(root / ORIGIN_FILE)
    trace = apply_patch(origin, file.patch)
    found = (
        hashlib.sha256(read_file(root / TRACE_FILE, root=root)).hexdigest() if (root / TRACE_FILE).is_file() else None
    )
    if found != trace_sha256(trace):
        if found is None or found != file.before_sha256:
            message = (
                f"{root / TRACE_FILE}: the trace does not match the changes in {BRANCH_FILE}; "
                "restore it, or copy the folder and use it as a bundle"
            )
            raise SessionError(message)
        write_trace(trace, root / TRACE_FILE)
    bundle = open_bundle(root)
    return BranchBundle(file=file, bundle=replace(bundle, trace=trace), origin=origin)


def read_branch_file(root: Path) -> BranchFile:
    """Read the origin and changes of a branch.

    Raises:
        UsageError: not a branch.
        SessionError: the file is invalid.
    """
    path = root / BRANCH_FILE
    try:
        data = read_document(path, root=root)
    except OSError as error:
        message = f"{root}: not a branch, {BRANCH_FILE} cannot be read ({error.strerror}); check the name"
        raise UsageError(message, code="branch") from error
    try:
        return BranchFile.model_validate_json(data)
    except ValidationError as error:
        raise SessionError(validation_error(error, data, str(path)).message) from error


def write_branch_file(root: Path, file: BranchFile) -> None:
    """Write the origin and changes of a branch atomically.

    Raises:
        OutputError: it cannot be written.
    """
    write_atomically(root / BRANCH_FILE, file.model_dump_json(indent=1).encode() + b"\n")


def trace_sha256(trace: ExecutionTrace) -> str:
    """Digest a trace as written to its file."""
    return hashlib.sha256(serialize_trace(trace)).hexdigest()


def apply_operations(branch: BranchBundle, operations: Sequence[Operation]) -> BranchBundle:
    """Return a branch with more changes, written to its folder.

    Raises:
        TraceFieldError: an operation does not apply; nothing is written.
        OutputError: the folder cannot be written.
    """
    trace = apply_patch(branch.trace, TracePatch(operations=tuple(operations)))
    patch = TracePatch(operations=_append_operations(branch.file.patch.operations, operations))
    changed = BranchBundle(
        file=branch.file.model_copy(update={"patch": patch, "before_sha256": trace_sha256(branch.trace)}),
        bundle=replace(branch.bundle, trace=trace),
        origin=branch.origin,
    )
    root = branch.bundle.root
    write_branch_file(root, changed.file)
    write_trace(trace, root / TRACE_FILE)
    return changed


def _append_operations(before: Sequence[Operation], more: Sequence[Operation]) -> tuple[Operation, ...]:
    """Append operations; only the last of several timelines is kept."""
    if any(isinstance(each, SetTimeline) for each in more):
        before = [each for each in before if not isinstance(each, SetTimeline)]
    return (*before, *more)


def skip_step(branch: BranchBundle, iteration: int, reason: str) -> BranchBundle:
    """Remove a step.

    Raises:
        UsageError: it belongs to the parent, or does not exist.
    """
    step = _require_own_step(branch, iteration)
    return apply_operations(branch, [build_edit(DeleteStep, step=step.id, reason=reason)])


def edit_step(branch: BranchBundle, iteration: int, fields: Mapping[str, JsonValue], reason: str) -> BranchBundle:
    """Change fields of a step; they are named as in `eikon trace set`.

    Raises:
        UsageError: the step belongs to the parent, or does not exist.
        TraceFieldError: no such field, or the value does not fit it.
    """
    step = _require_own_step(branch, iteration)
    return apply_operations(branch, [build_edit(SetFields, step=step.id, fields=dict(fields), reason=reason)])


def insert_step(branch: BranchBundle, iteration: int, action: Action, reason: str) -> BranchBundle:
    """Insert an action before a step, or after the last one if `iteration` is one more than there are.

    Raises:
        UsageError: the step belongs to the parent, or does not exist.
    """
    steps = branch.steps
    if not steps:
        message = f"branch {branch.file.name} has no steps to insert an action next to; create a new branch"
        raise UsageError(message, code="branch")
    at_end = iteration == len(steps) + 1
    beside = steps[-1] if at_end else _require_own_step(branch, iteration)
    new = build_insertion(
        branch.trace, (beside.id, "after" if at_end else "before"), without_identities(action), reason=reason
    )
    return apply_operations(branch, [new])


def _require_own_step(branch: BranchBundle, iteration: int) -> Step:
    steps, file = branch.steps, branch.file
    if not 1 <= iteration <= len(steps):
        message = f"expected a step of branch {file.name} from 1 to {len(steps)}, got {iteration}"
        raise UsageError(message, code="branch")
    if iteration <= file.fork_iteration:
        message = (
            f"expected a step of branch {file.name} after its fork at iteration {file.fork_iteration}, got step "
            f"{iteration}, which belongs to {file.parent}; create a branch at an earlier checkpoint"
        )
        raise UsageError(message, code="branch")
    return steps[iteration - 1]
