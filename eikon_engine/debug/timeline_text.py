"""Render a timeline as a tree for the terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final, assert_never

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from eikon_engine.debug.timeline_tree import (
    VERDICT_SYMBOLS,
    CheckpointItem,
    EvaluationItem,
    OrphanForkItem,
    PositionItem,
    RemainingStepsItem,
    SkippedStepItem,
    StepItem,
    build_trees,
)
from eikon_engine.outcome.terminal import safe_line

if TYPE_CHECKING:
    from eikon_engine.debug.timeline import StepEntry, Timeline
    from eikon_engine.debug.timeline_tree import BranchTree, Item
    from eikon_engine.outcome.outcomes import Verdict

UNLIMITED: Final = 10_000
"""Columns if the terminal's width is unknown; lines are not wrapped."""
_COLOURS: Final[dict[Verdict, str]] = {"faithful": "green", "diverged": "red", "unverifiable": "yellow"}


def render_timeline_text(timeline: Timeline, *, width: int | None = None, colour: bool = False) -> str:
    """Return the tree as lines: branches at their forks, the active one in bold, and the session's position.

    `width` is that of the terminal, in columns.
    """
    file = io.StringIO()
    console = Console(
        file=file,
        width=width or UNLIMITED,
        force_terminal=colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
    )
    console.print(_styled(f"mission {timeline.mission_id}, session {timeline.session_id}", "bold"))
    for tree in build_trees(timeline):
        console.print(_add_items(tree, Tree(_branch_heading(tree), guide_style="dim")))
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def _add_items(tree: BranchTree, root: Tree) -> Tree:
    for item in tree.items:
        _add_item(item, root)
    return root


def _add_item(item: Item, root: Tree) -> None:
    match item:
        case StepItem(step=step):
            root.add(_step_text(step))
        case CheckpointItem(forks=forks):
            below = root.add(_styled(f"◆ {item}", "cyan"))
            for fork in forks:
                _add_items(fork, below.add(_branch_heading(fork)))
        case OrphanForkItem(tree=fork):
            _add_items(fork, root.add(_branch_heading(fork)))
        case EvaluationItem():
            root.add(_styled(f"! {item}", "yellow"))
        case SkippedStepItem():
            root.add(_styled(f"- {item}", "yellow"))
        case PositionItem():
            root.add(_styled(f"▶ {item}", "bold"))
        case RemainingStepsItem():
            root.add(_styled(f"· {item}", "dim"))
        case _:
            assert_never(item)


def _branch_heading(tree: BranchTree) -> Text:
    branch, verdict = tree.branch, tree.branch.verdict
    name = f"{'●' if tree.is_active else '○'} {branch.name}"
    return Text.assemble(
        _styled(name, "bold green" if tree.is_active else "bold"),
        _styled(f" ({tree.details})" if tree.details else "", "dim"),
        _styled("", "") if verdict is None else _styled(f": {verdict} {VERDICT_SYMBOLS[verdict]}", _COLOURS[verdict]),
    )


def _step_text(step: StepEntry) -> Text:
    return Text.assemble(
        _styled(f"{VERDICT_SYMBOLS[step.verdict]} ", _COLOURS[step.verdict]),
        _styled(f"{step.iteration} {step.label}", ""),
        _styled(" (new)" if step.is_new else "", "dim"),
        _styled("" if step.verdict == "faithful" else f": {step.verdict}", _COLOURS[step.verdict]),
    )


def _styled(text: str, style: str) -> Text:
    return Text(safe_line(text), style=style)
