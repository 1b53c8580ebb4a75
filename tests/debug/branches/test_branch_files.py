"""Branches as files: created, changed, interrupted and read back."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eikon_engine.debug.branches.branch import (
    BranchBundle,
    edit_step,
    insert_step,
    new_branch_folder,
    open_branch,
    read_branch_file,
    require_branch_name,
    skip_step,
)
from eikon_engine.debug.branches.lifecycle import BranchSpec, create_branch_bundle, delete_branch_bundle, save_as_patch
from eikon_engine.errors import EikonError, SessionError, UsageError
from eikon_engine.trace.actions import Fill, Press
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.patch import apply_patch, read_patch
from eikon_engine.trace.target import Target
from eikon_engine.trace.trace_file import serialize_trace
from tests.debug.branches.conftest import CREATED, FORK, TRACES, forked
from tests.error_codes import has_code
from tests.trace.test_patched_copy import contents

SHOP = TRACES / "shop_passing"
TAB = Press(key="Tab")


def test_a_fork_is_a_bundle_with_a_pointer_to_its_parent(tmp_path: Path) -> None:
    """It has the steps of its parent, records its fork, and leaves the parent unchanged."""
    before = contents(SHOP)
    parent = open_bundle(SHOP)

    branch = forked(parent, tmp_path)

    assert (branch.file.parent, branch.file.fork_point, branch.file.fork_iteration) == ("main", "cp_12_x", FORK)
    assert branch.file.parent_sha256 == hashlib.sha256(serialize_trace(parent.trace)).hexdigest()
    assert open_bundle(tmp_path / "other").trace == parent.trace
    assert contents(SHOP) == before
    assert branch.known_count == len(branch.steps)


def test_a_branch_of_a_branch_has_the_same_original(tmp_path: Path) -> None:
    """Its patch contains the changes of both branches."""
    child = forked(skip_step(forked(open_bundle(SHOP), tmp_path), 20, "why").bundle, tmp_path, name="child")
    child = insert_step(child, 25, TAB, "why")

    patch = save_as_patch(child, tmp_path / "patch.json")

    assert read_patch(tmp_path / "patch.json") == patch
    assert apply_patch(open_bundle(SHOP).trace, patch) == child.trace
    assert len(patch.operations) == 2


def test_branches_inherit_the_variables_of_their_session(tmp_path: Path) -> None:
    """A branch replays with them in every later replay."""
    from eikon_engine.trace.edits import SetFields, SetVariable
    from eikon_engine.trace.patch import TracePatch

    text = SetFields(step="find_banana__attempt_1_action_003", fields={"action.text": "{{fruit}}"}, reason="why")
    declared = SetVariable(name="fruit", value="banana", reason="why")
    parent = open_bundle(SHOP)
    from dataclasses import replace

    with_fruit = replace(parent, trace=apply_patch(parent.trace, TracePatch(operations=(declared, text))))
    wanted = BranchSpec(
        name="pear", parent="main", fork_point="x", iteration=0, created=CREATED, variables={"fruit": "pear"}
    )

    assert create_branch_bundle(with_fruit, tmp_path, wanted).trace.variables == {"fruit": "pear"}


def test_steps_are_skipped_edited_and_inserted(tmp_path: Path) -> None:
    """From the first changed step on, results are unknown."""
    branch = forked(open_bundle(SHOP), tmp_path)
    names = [step.id for step in branch.steps]

    branch = skip_step(branch, 20, "why")
    branch = edit_step(branch, 18, {"action.timeout_ms": 9}, "why")
    assert branch.known_count == 19
    branch = insert_step(branch, FORK + 1, TAB, "why")

    assert [step.id for step in branch.steps] == [
        *names[:FORK],
        "add_to_cart__attempt_1_inserted_001",
        *names[FORK:19],
        *names[20:],
    ]
    assert branch.known_count == FORK
    assert open_branch(tmp_path / "other").trace == branch.trace


@pytest.mark.parametrize("name", ["main", "", " a", "a ", "a" * 101, "a\n", "a\x1b[0m", "a\u202eb", "\ud800"])
def test_invalid_branch_names_are_rejected(name: str) -> None:
    """A name is printable, fits on one line, and is not empty."""
    with pytest.raises(UsageError, match="expected a branch name", check=has_code("branch")):
        require_branch_name(name)


def test_every_printable_name_has_its_own_folder(tmp_path: Path) -> None:
    """Folders are distinct, also where the file system ignores case."""
    names = ["try with typescript", "try_with_typescript", "Retry", "retry", "../up", "..", "наоборот", "逆", "x" * 100]
    branches = [forked(open_bundle(SHOP), tmp_path, name=name) for name in names]

    folders = [branch.bundle.root for branch in branches]
    assert [folder.name for folder in folders] == [
        "try_with_typescript",
        "try_with_typescript-2",
        "Retry",
        "retry-2",
        "_up",
        "branch",
        "_",
        "_-2",
        "x" * 100,
    ]
    assert {folder.parent for folder in folders} == {tmp_path}
    assert [open_branch(folder).file.name for folder in folders] == names


@given(names=st.lists(st.text(min_size=1, max_size=100), min_size=1, max_size=8, unique=True))
def test_folders_are_safe_and_unique_for_all_names(names: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """They stay inside the session folder, and do not collide on case-insensitive file systems."""
    root = tmp_path_factory.mktemp("names")
    for name in names:
        new_branch_folder(root, name).mkdir()

    made = [each.name for each in root.iterdir()]
    assert len({name.casefold() for name in made}) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,110}", name) for name in made)


def test_invalid_changes_are_rejected_and_change_nothing(tmp_path: Path) -> None:
    """Steps of the parent, missing steps, unknown fields and taken names are rejected."""
    branch = forked(open_bundle(SHOP), tmp_path)
    before = contents(tmp_path)
    for change, code, message in (
        (lambda: skip_step(branch, FORK, "why"), "branch", "step 12, which belongs to main"),
        (lambda: skip_step(branch, 30, "why"), "branch", "from 1 to 29, got 30"),
        (lambda: skip_step(branch, 0, "why"), "branch", "from 1 to 29, got 0"),
        (lambda: insert_step(branch, 31, TAB, "why"), "branch", "from 1 to 29, got 31"),
        (lambda: insert_step(branch, 1, TAB, "why"), "branch", "create a branch at an earlier checkpoint"),
        (lambda: edit_step(branch, 20, {"action.nothing": 1}, "why"), "trace-field", "action.nothing"),
        (lambda: forked(open_bundle(SHOP), tmp_path), "branch", "a branch other already exists"),
        (
            lambda: forked(open_bundle(SHOP), tmp_path, name="late", iteration=30),
            "branch",
            "has only 29; fork earlier",
        ),
        (lambda: open_branch(SHOP), "branch", "not a branch, branch.json"),
    ):
        with pytest.raises(EikonError, match=message, check=has_code(code)):
            change()  # type: ignore[no-untyped-call]
    assert contents(tmp_path) == before


def test_an_inserted_action_drops_the_recorded_element(tmp_path: Path) -> None:
    """A copied action can be inserted; running it determines which element it hits."""
    known = next(step for step in open_bundle(SHOP).trace.subgoal_traces[2].actions_taken)
    assert isinstance(known.action, Fill)
    assert known.action.target.identity is not None

    branch = insert_step(forked(open_bundle(SHOP), tmp_path), FORK + 1, known.action, "why")

    assert branch.steps[FORK].action == Fill(target=Target(selector="#quantity"), text="3")  # type: ignore[union-attr]


def test_a_branch_interrupted_between_its_files_is_completed(tmp_path: Path) -> None:
    """Its trace is rebuilt from the patch that was already written."""
    branch = forked(open_bundle(SHOP), tmp_path)
    trace = (tmp_path / "other" / "trace.json").read_bytes()
    changed = skip_step(branch, 20, "why")
    (tmp_path / "other" / "trace.json").write_bytes(trace)

    assert open_branch(tmp_path / "other").trace == changed.trace
    assert open_bundle(tmp_path / "other").trace == changed.trace


def test_a_trace_modified_by_other_means_is_rejected(tmp_path: Path) -> None:
    """It is never rebuilt silently."""
    skip_step(forked(open_bundle(SHOP), tmp_path), 20, "why")
    path = tmp_path / "other" / "trace.json"
    path.write_text(path.read_text().replace('"#cart-link"', '"#other"'))

    with pytest.raises(SessionError, match=r"trace.json: the trace does not match the changes in branch.json"):
        open_branch(tmp_path / "other")


def test_a_damaged_branch_file_is_reported(tmp_path: Path) -> None:
    """The message is one line and names the field."""
    forked(open_bundle(SHOP), tmp_path)
    path = tmp_path / "other" / "branch.json"
    path.write_text(path.read_text().replace('"main"', "7"))

    with pytest.raises(SessionError, match="parent: expected a string, got 7"):
        read_branch_file(tmp_path / "other")


def test_a_deleted_branch_leaves_no_files(tmp_path: Path) -> None:
    """Its whole folder is removed."""
    delete_branch_bundle(forked(open_bundle(SHOP), tmp_path))

    assert list(tmp_path.iterdir()) == []


KILLED = """
import sys
from pathlib import Path
from eikon_engine.trace.actions import Press
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.debug.branches.branch import insert_step, skip_step
from tests.debug.branches.conftest import forked

branch = forked(open_bundle(Path(sys.argv[1])), Path(sys.argv[2]))
print("forked", flush=True)
while True:
    if len(branch.steps) > 20:
        branch = skip_step(insert_step(branch, 13, Press(key="Tab"), "why"), 20, "why")
    branch = insert_step(branch, 14, Press(key="Tab"), "why")
    print("changed", flush=True)
"""


def test_a_killed_process_leaves_a_readable_branch(tmp_path: Path) -> None:
    """It holds whenever it is killed during a change."""
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(SHOP), str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "forked\n"
        assert process.stdout.readline() == "changed\n"
        os.kill(process.pid, signal.SIGKILL)

    branch = open_branch(tmp_path / "other")
    branch.bundle.verify()
    assert len(branch.file.patch.operations) > 0
    assert open_bundle(tmp_path / "other").trace == branch.trace


CHANGES = st.lists(
    st.tuples(st.sampled_from(["skip", "edit", "insert"]), st.integers(FORK - 1, 30)), min_size=1, max_size=4
)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=CHANGES)
def test_a_branch_equals_its_patch_applied_to_the_recording(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, int]]
) -> None:
    """Its files, its patch and the open branch agree after each change."""
    folder = tmp_path_factory.mktemp("branch")
    branch = forked(open_bundle(SHOP), folder)
    for kind, iteration in changes:
        try:
            branch = _changed(branch, kind, iteration)
        except EikonError:
            assert not FORK < iteration <= len(branch.steps) or kind == "edit"
    assert open_branch(folder / "other").trace == branch.trace
    assert apply_patch(open_bundle(SHOP).trace, branch.file.patch) == branch.trace


def _changed(branch: BranchBundle, kind: str, iteration: int) -> BranchBundle:
    match kind:
        case "skip":
            return skip_step(branch, iteration, "why")
        case "edit":
            return edit_step(branch, iteration, {"action.target.selector": "#other"}, "why")
        case _:
            return insert_step(branch, iteration, TAB, "why")
