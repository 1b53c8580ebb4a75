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
    ForkItem,
    HereItem,
    LeftOutItem,
    StepItem,
    ToComeItem,
)
from eikon_engine.outcome.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.debug.timeline_tree import BranchTree
    from eikon_engine.outcome.outcomes import Verdict

LINE: Final = 18
"""Height of one line of text; this and the following are in pixels."""
GAP: Final = 10
"""Between two rows."""
LANE: Final = 22
"""Between the lanes of a branch and its child."""
LANES: Final = 132
"""Total width of all lanes."""
BESIDE: Final = 18
"""From a lane to its text."""
ADVANCE: Final = 7.9
"""For a monospaced 13-pixel font."""
LONGEST: Final = 4
"""Lines per text; the tooltip has the full text."""

Sign: TypeAlias = "Verdict | Literal['branch', 'checkpoint', 'here', 'to-come']"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One item of a branch."""

    sign: Sign
    depth: int
    """Number of ancestor branches."""
    text: str
    about: str = ""
    """Dimmed text below."""
    is_active: bool = False
    """Whether its branch is the active one."""
    forks_at: int | None = None
    """For the first row of a branch: index of the parent's row where it forks, from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A row with its coordinates."""

    row: Row
    x: float
    """Of its branch's lane."""
    top: float
    lines: tuple[str, ...]
    about: tuple[str, ...]

    @property
    def y(self) -> float:
        """Return the middle of its first line."""
        return self.top + LINE / 2

    @property
    def height(self) -> float:
        """Return its height without the gap below."""
        return LINE * (len(self.lines) + len(self.about))


def place(trees: Sequence[BranchTree], *, left: float, top: float, right: float) -> tuple[Place, ...]:
    """Stack the rows of all trees, with texts wrapped at `right`."""
    rows: list[Row] = []
    for tree in trees:
        _branch(rows, tree, 0, None)
    deepest = max(row.depth for row in rows)
    lane = min(LANE, LANES / deepest) if deepest else LANE
    places = []
    for row in rows:
        x = left + lane * row.depth
        columns = int((right - x - BESIDE) / ADVANCE)
        at = Place(row=row, x=x, top=top, lines=_broken(row.text, columns), about=_broken(row.about, columns))
        places.append(at)
        top += at.height + GAP
    return tuple(places)


def _branch(rows: list[Row], tree: BranchTree, depth: int, forks_at: int | None) -> None:
    verdict = f": {tree.branch.verdict}" if tree.branch.verdict else ""
    rows.append(
        Row(
            sign="branch",
            depth=depth,
            text=tree.branch.name + verdict,
            about=tree.about,
            is_active=tree.is_active,
            forks_at=forks_at,
        )
    )
    for item in tree.items:
        match item:
            case StepItem(step=step):
                text = f"{step.iteration} {step.label}{' (new)' if step.is_new else ''}"
                rows.append(Row(sign=step.verdict, depth=depth, text=text, is_active=tree.is_active))
            case CheckpointItem(forks=forks):
                text = str(item)
                rows.append(Row(sign="checkpoint", depth=depth, text=text, is_active=tree.is_active))
                at = len(rows) - 1
                for fork in forks:
                    _branch(rows, fork, depth + 1, at)
            case ForkItem(tree=fork):
                _branch(rows, fork, depth + 1, _last_of(rows, depth))
            case EvaluationItem() | LeftOutItem():
                rows.append(Row(sign="unverifiable", depth=depth, text=str(item), is_active=tree.is_active))
            case HereItem():
                rows.append(Row(sign="here", depth=depth, text=str(item), is_active=tree.is_active))
            case ToComeItem():
                rows.append(Row(sign="to-come", depth=depth, text=str(item), is_active=tree.is_active))
            case _:
                assert_never(item)


def _last_of(rows: Sequence[Row], depth: int) -> int:
    return next(number for number in range(len(rows) - 1, -1, -1) if rows[number].depth == depth)


def _broken(text: str, columns: int) -> tuple[str, ...]:
    """Wrap a text; double-width characters count as two columns."""
    if not text:
        return ()
    shown = Text(printable(text.replace("\n", " ")))
    lines = [line.plain.rstrip() for line in shown.wrap(_CONSOLE, max(columns, 1))]
    return tuple(lines) if len(lines) <= LONGEST else (*lines[: LONGEST - 1], f"{lines[LONGEST - 1][: columns - 1]}…")


_CONSOLE: Final = Console(file=io.StringIO(), width=80, legacy_windows=False)
"""Needed by rich for wrapping; nothing is written to it."""
