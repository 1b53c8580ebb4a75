"""Branches that were run: what new steps show is recorded, and repeats."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.cli.replay import replay_command
from eikon_engine.debug.branches.branch import open_branch
from eikon_engine.debug.branches.branch_runner import NEW_STEP_NOTE
from eikon_engine.debug.branches.lifecycle import save_as_bundle, save_as_patch
from eikon_engine.divergence.bundle_diff import compare_bundles
from eikon_engine.outcome.events import ActionPerformed, DivergenceFound
from eikon_engine.report.diff_report import render_bundle_diff
from eikon_engine.trace.bundle import copy_bundle, open_bundle
from eikon_engine.trace.patch import apply_patch
from tests.debug.branches.conftest import FORK, TRACES, open_cart_first, run_branch
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from pathlib import Path

    from tests.debug.branches.conftest import RunBranch

pytestmark = pytest.mark.browser


def test_a_branch_that_was_run_replays_faithfully(run_branch_once: RunBranch, tmp_path: Path) -> None:
    """Replays expect what the new steps showed in the session."""
    arguments = ["--trace", str(run_branch_once.branch.bundle.root), "--artifacts-dir", str(tmp_path)]

    assert CliRunner().invoke(replay_command, arguments, standalone_mode=False).return_value == 0


def test_recorded_responses_are_served_when_a_branch_requests_them(tmp_path: Path) -> None:
    """In the session they are served on request, in replays at the recorded moments."""
    parent = open_bundle(TRACES / "shop_passing")

    early = asyncio.run(run_branch(parent, tmp_path, open_cart_first, FORK + 1))

    assert [step.result.kind for step in early.branch.steps[FORK:]] == ["ok"]
    assert early.rewound.reexecuted == FORK + 1
    assert replay(early.branch.bundle.root, tmp_path / "artifacts").verdict == "faithful"


def test_new_steps_are_unverifiable(run_branch_once: RunBranch) -> None:
    """They succeed with a note that nothing was known of them; earlier steps are those of the recording."""
    taken = [event.outcome for event in run_branch_once.events if isinstance(event, ActionPerformed)]

    assert {each.result.kind for each in taken if each.result is not None} == {"ok"}
    actions = [each for each in taken if each.kind == "action"]
    assert [each.verdict for each in actions] == ["faithful", *["unverifiable"] * (len(actions) - 1)]
    assert all(NEW_STEP_NOTE in each.unverifiable for each in actions[1:])
    assert not [event for event in run_branch_once.events if isinstance(event, DivergenceFound)]
    assert run_branch_once.branch.known_count == len(run_branch_once.branch.steps)


def test_rewinding_within_a_branch_reaches_the_observed_state(run_branch_once: RunBranch) -> None:
    """A new context reaches the same state with the deliveries that the branch recorded."""
    assert (run_branch_once.rewound.method, run_branch_once.rewound.reexecuted) == ("reexecuted", 21)
    assert run_branch_once.rewound.verified > 12 * 5


def test_a_branch_is_restored_from_its_files(run_branch_once: RunBranch) -> None:
    """Opening its folder returns the same branch."""
    opened = open_branch(run_branch_once.branch.bundle.root)

    assert (opened.trace, opened.file) == (run_branch_once.branch.trace, run_branch_once.branch.file)
    opened.bundle.verify()


def test_a_saved_patch_applied_to_the_recording_is_the_branch(run_branch_once: RunBranch, tmp_path: Path) -> None:
    """The result has the same steps and the same expectations."""
    patch = save_as_patch(run_branch_once.branch, tmp_path / "patch.json")
    trace = apply_patch(run_branch_once.parent.trace, patch)
    copy_bundle(run_branch_once.parent.root, trace, tmp_path / "copy")

    assert trace.network == run_branch_once.branch.trace.network
    assert replay(tmp_path / "copy", tmp_path / "artifacts").verdict == "faithful"


def test_a_saved_bundle_is_certified(run_branch_once: RunBranch, tmp_path: Path) -> None:
    """Repeated replays agree; the bundle has a certificate and no branch files."""
    report = asyncio.run(save_as_bundle(run_branch_once.branch, tmp_path / "saved", CertifyOptions(runs=2)))

    assert (report.status, report.findings) == ("certified", ())
    assert sorted(path.name for path in (tmp_path / "saved").glob("*.json")) == [
        "certificate.json",
        "storage_state.json",
        "trace.json",
    ]


def test_the_diff_to_the_parent_names_all_changes(run_branch_once: RunBranch) -> None:
    """It lists skipped and inserted steps, missing requests and different pages."""
    diff = compare_bundles(("main", run_branch_once.parent), ("other", run_branch_once.branch.bundle))
    text = render_bundle_diff(diff)

    kinds = [each.kind for each in diff.steps]
    assert (kinds.count("only_first"), kinds.count("only_second"), kinds.count("changed")) == (3, 5, 0)
    assert any(each.first == 1 and each.second == 0 and "review" in each.key for each in diff.requests)
    assert "-  14 fill #reviews >> #author ('Your name') with 'Ada'" in text
    assert "+  14 click #wrap-red ('Red')" in text
    assert "  … 10 equal steps" in text
    assert compare_bundles(("main", run_branch_once.parent), ("again", run_branch_once.parent)).is_same
