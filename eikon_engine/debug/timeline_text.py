"""Render a timeline as a tree for the terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final, assert_never

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from eikon_engine.debug.timeline_tree import (
    MARKS,
    CheckpointItem,
    EvaluationItem,
    ForkItem,
    HereItem,
    LeftOutItem,
    StepItem,
    ToComeItem,
    grow,
)
from eikon_engine.outcome.printable import printable

if TYPE_CHECKING:
    from eikon_engine.debug.timeline import StepEntry, Timeline
    from eikon_engine.debug.timeline_tree import BranchTree, Item
    from eikon_engine.outcome.outcomes import Verdict

UNLIMITED: Final = 10_000
"""Columns if the terminal's width is unknown; lines are not wrapped."""
_COLOURS: Final[dict[Verdict, str]] = {"faithful": "green", "diverged": "red", "unverifiable": "yellow"}


def render_timeline(timeline: Timeline, *, width: int | None = None, colour: bool = False) -> str:
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
    console.print(_text(f"mission {timeline.mission_id}, session {timeline.session_id}", "bold"))
    for tree in grow(timeline):
        console.print(_drawn(tree, Tree(_head(tree), guide_style="dim")))
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


def _drawn(tree: BranchTree, root: Tree) -> Tree:
    for item in tree.items:
        _add(item, root)
    return root


def _add(item: Item, root: Tree) -> None:
    match item:
        case StepItem(step=step):
            root.add(_step(step))
        case CheckpointItem(forks=forks):
            below = root.add(_text(f"◆ {item}", "cyan"))
            for fork in forks:
                _drawn(fork, below.add(_head(fork)))
        case ForkItem(tree=fork):
            _drawn(fork, root.add(_head(fork)))
        case EvaluationItem():
            root.add(_text(f"! {item}", "yellow"))
        case LeftOutItem():
            root.add(_text(f"- {item}", "yellow"))
        case HereItem():
            root.add(_text(f"▶ {item}", "bold"))
        case ToComeItem():
            root.add(_text(f"· {item}", "dim"))
        case _:
            assert_never(item)


def _head(tree: BranchTree) -> Text:
    branch, verdict = tree.branch, tree.branch.verdict
    name = f"{'●' if tree.is_active else '○'} {branch.name}"
    return Text.assemble(
        _text(name, "bold green" if tree.is_active else "bold"),
        _text(f" ({tree.about})" if tree.about else "", "dim"),
        _text("", "") if verdict is None else _text(f": {verdict} {MARKS[verdict]}", _COLOURS[verdict]),
    )


def _step(step: StepEntry) -> Text:
    return Text.assemble(
        _text(f"{MARKS[step.verdict]} ", _COLOURS[step.verdict]),
        _text(f"{step.iteration} {step.label}", ""),
        _text(" (new)" if step.is_new else "", "dim"),
        _text("" if step.verdict == "faithful" else f": {step.verdict}", _COLOURS[step.verdict]),
    )


def _text(text: str, style: str) -> Text:
    return Text(printable(text.replace("\n", " ")), style=style)
