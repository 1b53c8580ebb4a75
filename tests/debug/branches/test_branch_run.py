"""Branches that are gone: what new steps show is recorded, and repeats."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from click.testing import CliRunner

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.cli.replay import replay_command
from eikon_engine.debug.branches.branch import open_branch
from eikon_engine.debug.branches.branch_runner import NEW_STEP_NOTE
from eikon_engine.debug.branches.diff import compare_bundles
from eikon_engine.debug.branches.diff_text import render_branch_diff
from eikon_engine.debug.branches.lifecycle import save_as_bundle, save_as_patch
from eikon_engine.outcome.events import ActionPerformed, DivergenceFound
from eikon_engine.trace.bundle import copy_bundle, open_bundle
from eikon_engine.trace.patch import apply_patch
from tests.debug.branches.conftest import FORK, TRACES, go, to_the_cart_at_once
from tests.replay.conftest import replay

if TYPE_CHECKING:
    from pathlib import Path

    from tests.debug.branches.conftest import Gone


def test_a_branch_that_was_gone_replays_faithful(gone: Gone, tmp_path: Path) -> None:
    """What new steps showed is what the command for replays shows, and every replay has to show."""
    arguments = ["--trace", str(gone.branch.bundle.root), "--artifacts-dir", str(tmp_path)]

    assert CliRunner().invoke(replay_command, arguments, standalone_mode=False).return_value == 0


def test_answers_that_were_recorded_for_later_come_when_a_branch_asks_for_them(tmp_path: Path) -> None:
    """The first time as they are asked for, and in replays at the moments of that time."""
    parent = open_bundle(TRACES / "shop_passing")

    early = asyncio.run(go(parent, tmp_path, to_the_cart_at_once, FORK + 1))

    assert [step.result.kind for step in early.branch.steps[FORK:]] == ["ok"]
    assert early.rewound.reexecuted == FORK + 1
    assert replay(early.branch.bundle.root, tmp_path / "artifacts").verdict == "faithful"


def test_new_steps_are_neither_faithful_nor_diverged(gone: Gone) -> None:
    """They succeed, and say that nothing was known of them; a step before the first of them is one of the recording."""
    taken = [event.outcome for event in gone.events if isinstance(event, ActionPerformed)]

    assert {each.result.kind for each in taken if each.result is not None} == {"ok"}
    actions = [each for each in taken if each.kind == "action"]
    assert [each.verdict for each in actions] == ["faithful", *["unverifiable"] * (len(actions) - 1)]
    assert all(NEW_STEP_NOTE in each.unverifiable for each in actions[1:])
    assert not [event for event in gone.events if isinstance(event, DivergenceFound)]
    assert gone.branch.known_count == len(gone.branch.steps)


def test_rewinding_within_a_branch_finds_what_was_seen_there(gone: Gone) -> None:
    """A fresh page comes to the same state, by the moments that the branch has learnt."""
    assert (gone.rewound.method, gone.rewound.reexecuted) == ("reexecuted", 21)
    assert gone.rewound.verified > 12 * 5


def test_a_branch_opens_as_it_was_left(gone: Gone) -> None:
    """Its files alone say what it is."""
    opened = open_branch(gone.branch.bundle.root)

    assert (opened.trace, opened.file) == (gone.branch.trace, gone.branch.file)
    opened.bundle.verify()


def test_a_saved_patch_makes_the_branch_of_the_recording(gone: Gone, tmp_path: Path) -> None:
    """Applied to the recording, it does the same, and is held to the same."""
    patch = save_as_patch(gone.branch, tmp_path / "patch.json")
    trace = apply_patch(gone.parent.trace, patch)
    copy_bundle(gone.parent.root, trace, tmp_path / "copy")

    assert trace.network == gone.branch.trace.network
    assert replay(tmp_path / "copy", tmp_path / "artifacts").verdict == "faithful"


def test_a_saved_trace_is_certified(gone: Gone, tmp_path: Path) -> None:
    """More replays agree; it is a bundle of its own, with a certificate, and nothing of a branch in it."""
    report = asyncio.run(save_as_bundle(gone.branch, tmp_path / "saved", CertifyOptions(runs=2)))

    assert (report.status, report.findings) == ("certified", ())
    assert sorted(path.name for path in (tmp_path / "saved").glob("*.json")) == [
        "certificate.json",
        "storage_state.json",
        "trace.json",
    ]


def test_the_difference_to_the_parent_names_what_was_done_otherwise(gone: Gone) -> None:
    """Steps left out and put in, requests that were not made, pages that show something else."""
    diff = compare_bundles(("main", gone.parent), ("other", gone.branch.bundle))
    text = render_branch_diff(diff)

    kinds = [each.kind for each in diff.steps]
    assert (kinds.count("only_first"), kinds.count("only_second"), kinds.count("changed")) == (3, 5, 0)
    assert any(each.first == 1 and each.second == 0 and "review" in each.key for each in diff.requests)
    assert "-  14 fill #reviews >> #author ('Your name') with 'Ada'" in text
    assert "+  14 click #wrap-red ('Red')" in text
    assert "  … 10 steps the same" in text
    assert compare_bundles(("main", gone.parent), ("again", gone.parent)).is_same
