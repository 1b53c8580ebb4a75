"""Lay out a timeline for drawing: rows from top to bottom, one lane per branch."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never

from rich.console import Console
from rich.text import Text

from eikon_engine.debug.timeline_tree import (
    CheckpointItem,
    EvaluationItem,
    OrphanForkItem,
    PositionItem,
    RemainingStepsItem,
    SkippedStepItem,
    StepItem,
)
from eikon_engine.outcome.printable import escape_control_characters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.debug.timeline_tree import BranchTree
    from eikon_engine.outcome.outcomes import Verdict

LINE_HEIGHT: Final = 18
"""Height of one line of text; this and the following are in pixels."""
ROW_GAP: Final = 10
"""Between two rows."""
LANE_WIDTH: Final = 22
"""Between the lanes of a branch and its child."""
MAX_LANES_WIDTH: Final = 132
"""Total width of all lanes."""
TEXT_OFFSET: Final = 18
"""From a lane to its text."""
CHARACTER_WIDTH: Final = 7.9
"""For a monospaced 13-pixel font."""
MAX_LINES: Final = 4
"""Lines per text; the tooltip has the full text."""

Marker: TypeAlias = "Verdict | Literal['branch', 'checkpoint', 'here', 'to-come']"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One item of a branch."""

    marker: Marker
    depth: int
    """Number of ancestor branches."""
    text: str
    details: str = ""
    """Dimmed text below."""
    is_active: bool = False
    """Whether its branch is the active one."""
    fork_row: int | None = None
    """For the first row of a branch: index of the parent's row where it forks, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRow:
    """A row with its coordinates."""

    row: Row
    x: float
    """Of its branch's lane."""
    top: float
    lines: tuple[str, ...]
    details: tuple[str, ...]

    @property
    def y(self) -> float:
        """Return the middle of its first line."""
        return self.top + LINE_HEIGHT / 2

    @property
    def height(self) -> float:
        """Return its height without the gap below."""
        return LINE_HEIGHT * (len(self.lines) + len(self.details))


def place_rows(trees: Sequence[BranchTree], *, left: float, top: float, right: float) -> tuple[PlacedRow, ...]:
    """Stack the rows of all trees, with texts wrapped at `right`."""
    rows: list[Row] = []
    for tree in trees:
        _append_branch(rows, tree, 0, None)
    deepest = max(row.depth for row in rows)
    lane = min(LANE_WIDTH, MAX_LANES_WIDTH / deepest) if deepest else LANE_WIDTH
    places = []
    for row in rows:
        x = left + lane * row.depth
        columns = int((right - x - TEXT_OFFSET) / CHARACTER_WIDTH)
        at = PlacedRow(row=row, x=x, top=top, lines=_wrap(row.text, columns), details=_wrap(row.details, columns))
        places.append(at)
        top += at.height + ROW_GAP
    return tuple(places)


def _append_branch(rows: list[Row], tree: BranchTree, depth: int, forks_at: int | None) -> None:
    verdict = f": {tree.branch.verdict}" if tree.branch.verdict else ""
    rows.append(
        Row(
            marker="branch",
            depth=depth,
            text=tree.branch.name + verdict,
            details=tree.details,
            is_active=tree.is_active,
            fork_row=forks_at,
        )
    )
    for item in tree.items:
        match item:
            case StepItem(step=step):
                text = f"{step.iteration} {step.label}{' (new)' if step.is_new else ''}"
                rows.append(Row(marker=step.verdict, depth=depth, text=text, is_active=tree.is_active))
            case CheckpointItem(forks=forks):
                text = str(item)
                rows.append(Row(marker="checkpoint", depth=depth, text=text, is_active=tree.is_active))
                at = len(rows) - 1
                for fork in forks:
                    _append_branch(rows, fork, depth + 1, at)
            case OrphanForkItem(tree=fork):
                _append_branch(rows, fork, depth + 1, _last_row_at_depth(rows, depth))
            case EvaluationItem() | SkippedStepItem():
                rows.append(Row(marker="unverifiable", depth=depth, text=str(item), is_active=tree.is_active))
            case PositionItem():
                rows.append(Row(marker="here", depth=depth, text=str(item), is_active=tree.is_active))
            case RemainingStepsItem():
                rows.append(Row(marker="to-come", depth=depth, text=str(item), is_active=tree.is_active))
            case _:
                assert_never(item)


def _last_row_at_depth(rows: Sequence[Row], depth: int) -> int:
    return next(number for number in range(len(rows) - 1, -1, -1) if rows[number].depth == depth)


def _wrap(text: str, columns: int) -> tuple[str, ...]:
    """Wrap a text; double-width characters count as two columns."""
    if not text:
        return ()
    shown = Text(escape_control_characters(text.replace("\n", " ")))
    lines = [line.plain.rstrip() for line in shown.wrap(_WRAPPING_CONSOLE, max(columns, 1))]
    return (
        tuple(lines)
        if len(lines) <= MAX_LINES
        else (*lines[: MAX_LINES - 1], f"{lines[MAX_LINES - 1][: columns - 1]}…")
    )


_WRAPPING_CONSOLE: Final = Console(file=io.StringIO(), width=80, legacy_windows=False)
"""Needed by rich for wrapping; nothing is written to it."""
