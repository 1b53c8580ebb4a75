"""A branch on disk: a bundle, what it was made of, and the changes that lead from one to the other.

```
branches/FOLDER/
├── trace.json …    the bundle, as it stands; replays know nothing of the rest
├── origin.json     the trace of the recording that all branches come from
└── branch.json     the parent, the fork, and the changes from origin.json to trace.json
```

The folder is named like the branch, as far as that is safe on all file systems; `branch.json` has the name itself.

`branch.json` is written before `trace.json`: whoever opens a branch whose process was killed in between makes the
trace anew.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from pydantic import AwareDatetime, Field, ValidationError

from eikon_engine.errors import BranchError, SessionError
from eikon_engine.outcome.debug_events import MAIN_BRANCH
from eikon_engine.trace.bundle import Bundle, open_bundle
from eikon_engine.trace.execution import ActionTrace, Blocked
from eikon_engine.trace.field_errors import trace_error
from eikon_engine.trace.file_name import file_name_for
from eikon_engine.trace.located import positions
from eikon_engine.trace.patch import SetTimeline, TracePatch, apply_patch
from eikon_engine.trace.record import Record
from eikon_engine.trace.serializer import TRACE_FILE, read_trace, trace_bytes, write_trace
from eikon_engine.trace.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from eikon_engine.trace.execution import ExecutionTrace
    from eikon_engine.trace.located import Step
    from eikon_engine.trace.patch import Operation

BRANCH_FILE: Final = "branch.json"
ORIGIN_FILE: Final = "origin.json"
LONGEST_NAME: Final = 100


class BranchFile(Record):
    """Where a branch comes from, and what was changed on it: `branch.json`."""

    branch_version: Literal[1] = 1
    name: str = Field(min_length=1, max_length=LONGEST_NAME)
    """As it was given; printable."""
    parent: str
    """Name of the branch that it left, or `main`."""
    parent_sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Digest of the parent's `trace.json` at that time."""
    fork_point: str
    """Id of the checkpoint at which it left."""
    fork_iteration: int = Field(ge=0)
    """How many steps are those of the parent."""
    created: AwareDatetime
    is_live: bool = False
    """Whether requests that no recording knows go to the network."""
    recorded_answers: int = Field(ge=0)
    """How many exchanges the network part of the recording has; what comes behind was asked for by branches."""
    before_sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    """Digest of the branch's own `trace.json` before the last change; None if there was none."""
    patch: TracePatch = TracePatch()
    """From `origin.json` to `trace.json`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """A branch as it was read."""

    file: BranchFile
    bundle: Bundle
    origin: ExecutionTrace
    """The recording that it comes from."""

    @property
    def trace(self) -> ExecutionTrace:
        """Return its mission."""
        return self.bundle.trace

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return its steps, in the order in which they are done."""
        return tuple(step for _, step in positions(self.trace))

    @property
    def known(self) -> int:
        """Count the steps before the first one of which nobody knows what it leads to.

        So far, a replay is sealed by the moments of the bundle; from there on, answers are given as they are asked for.
        """
        steps = self.steps
        return next((number for number, step in enumerate(steps) if not is_known(step)), len(steps))


def is_known(step: Step) -> bool:
    """Say whether a step has not lost what was recorded of it, because it or one before it was changed."""
    if not isinstance(step, ActionTrace) or isinstance(step.result, Blocked):
        return True
    return step.timing is None or step.observation is not None


def demand_name(name: str) -> str:
    """Return the name of a branch that may be made.

    Raises:
        BranchError: it can be none.
    """
    is_name = 0 < len(name) <= LONGEST_NAME and name.isprintable() and name == name.strip()
    if not is_name or name == MAIN_BRANCH:
        found = repr(name) if len(name) <= LONGEST_NAME else f"{len(name)} characters"
        message = f"wanted a name for a branch (printable, no blanks around it, at most {LONGEST_NAME} characters"
        raise BranchError(f"{message}, not {MAIN_BRANCH}), found {found}; choose another one")
    return name


def new_folder(branches: Path, name: str) -> Path:
    """Return the folder of a branch that is to be made: named like it, and like no other where case does not count.

    Raises:
        BranchError: there is a branch of that name already.
    """
    there = [each for each in branches.iterdir() if each.is_dir()] if branches.is_dir() else []
    if any(is_branch(each) and read_branch_file(each).name == name for each in there):
        message = f"{branches}: wanted a new branch, there is one called {name} already; choose another name"
        raise BranchError(message)
    safe = file_name_for(name, "branch")
    taken = {each.name.casefold() for each in branches.glob("*")}
    number, free = 2, safe
    while free.casefold() in taken:
        number, free = number + 1, f"{safe}-{number}"
    return branches / free


def is_branch(root: Path) -> bool:
    """Say whether a bundle is a branch."""
    return (root / BRANCH_FILE).is_file()


def open_branch(root: Path) -> Branch:
    """Read a branch; one that was cut off while it was changed is brought to its end.

    Raises:
        BranchError: there is none.
        SessionError: its trace is not the one that its changes lead to: somebody else wrote it.
        TraceError: its bundle cannot be read.
    """
    file = read_branch_file(root)
    origin = read_trace(root / ORIGIN_FILE)
    trace = apply_patch(origin, file.patch)
    found = hashlib.sha256((root / TRACE_FILE).read_bytes()).hexdigest() if (root / TRACE_FILE).is_file() else None
    if found != trace_sha256(trace):
        if found is None or found != file.before_sha256:
            message = (
                f"{root / TRACE_FILE}: wanted the trace that the changes in {BRANCH_FILE} lead to, found another one; "
                "restore it, or copy the folder and use it as a bundle"
            )
            raise SessionError(message)
        write_trace(trace, root / TRACE_FILE)
    bundle = open_bundle(root)
    return Branch(file=file, bundle=replace(bundle, trace=trace), origin=origin)


def read_branch_file(root: Path) -> BranchFile:
    """Read where a branch comes from.

    Raises:
        BranchError: there is no branch.
        SessionError: the file cannot be read, or was changed by hand.
    """
    path = root / BRANCH_FILE
    try:
        data = path.read_bytes()
    except OSError as error:
        message = f"{root}: wanted a branch, found no {BRANCH_FILE} that can be read ({error.strerror}); check its name"
        raise BranchError(message) from error
    try:
        return BranchFile.model_validate_json(data)
    except ValidationError as error:
        raise SessionError(trace_error(error, data, str(path)).message) from error


def write_branch_file(root: Path, file: BranchFile) -> None:
    """Write where a branch comes from, whole.

    Raises:
        OutputError: it cannot be written.
    """
    write_whole(root / BRANCH_FILE, file.model_dump_json(indent=1).encode() + b"\n")


def trace_sha256(trace: ExecutionTrace) -> str:
    """Digest a trace as it is written."""
    return hashlib.sha256(trace_bytes(trace)).hexdigest()


def with_operations(branch: Branch, operations: Sequence[Operation]) -> Branch:
    """Return a branch with more changes, written to its folder.

    Raises:
        TraceFieldError: one cannot be made; nothing is written.
        OutputError: the folder cannot be written.
    """
    trace = apply_patch(branch.trace, TracePatch(operations=tuple(operations)))
    patch = TracePatch(operations=_joined(branch.file.patch.operations, operations))
    changed = Branch(
        file=branch.file.model_copy(update={"patch": patch, "before_sha256": trace_sha256(branch.trace)}),
        bundle=replace(branch.bundle, trace=trace),
        origin=branch.origin,
    )
    root = branch.bundle.root
    write_branch_file(root, changed.file)
    write_trace(trace, root / TRACE_FILE)
    return changed


def _joined(before: Sequence[Operation], more: Sequence[Operation]) -> tuple[Operation, ...]:
    """Put changes behind others; of several timelines, the last one is left."""
    if any(isinstance(each, SetTimeline) for each in more):
        before = [each for each in before if not isinstance(each, SetTimeline)]
    return (*before, *more)
