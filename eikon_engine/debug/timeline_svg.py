"""Draw a timeline as SVG: one line per branch, leaving its parent at the fork.

The SVG has colours for light and dark themes. Texts are wrapped to keep it narrow. Verdicts differ in shape, not
only in colour.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, assert_never, get_args
from xml.etree.ElementTree import Element, SubElement, tostring

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
    build_trees,
)
from eikon_engine.outcome.outcomes import Verdict
from eikon_engine.outcome.terminal import escape_control_characters, safe_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.debug.timeline import Timeline
    from eikon_engine.debug.timeline_tree import BranchTree

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
    shown = Text(safe_line(text))
    lines = [line.plain.rstrip() for line in shown.wrap(_WRAPPING_CONSOLE, max(columns, 1))]
    return (
        tuple(lines)
        if len(lines) <= MAX_LINES
        else (*lines[: MAX_LINES - 1], f"{lines[MAX_LINES - 1][: columns - 1]}…")
    )


_WRAPPING_CONSOLE: Final = Console(file=io.StringIO(), width=80, legacy_windows=False)
"""Needed by rich for wrapping; nothing is written to it."""


WIDTH: Final = 480
"""Pixels; scaled down if less space is available."""
MARGIN: Final = 16
HEADER_HEIGHT: Final = 64
LEGEND_HEIGHT: Final = 44
BEND_RADIUS: Final = 14
"""Radius of the curve where a branch leaves its parent."""

_INVALID_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters not allowed in XML: https://www.w3.org/TR/xml/#charsets."""
_VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
_LEGEND_MARKERS: Final[tuple[Marker, ...]] = (*_VERDICTS, "checkpoint")
_VERDICT_PATHS: Final = {
    "faithful": "M-3.2 0.2 L-0.8 2.8 L3.4 -2.6",
    "diverged": "M-2.7 -2.7 L2.7 2.7 M2.7 -2.7 L-2.7 2.7",
}


def render_timeline_svg(timeline: Timeline) -> str:
    """Return the timeline as an SVG document."""
    places = place_rows(build_trees(timeline), left=MARGIN + 8, top=HEADER_HEIGHT, right=WIDTH - MARGIN)
    height = places[-1].top + places[-1].height + ROW_GAP + LEGEND_HEIGHT
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "timeline",
            "role": "img",
            "aria-label": _clean_text(f"Timeline of mission {timeline.mission_id}, session {timeline.session_id}"),
            "width": str(WIDTH),
            "height": _format_number(height),
            "viewBox": f"0 0 {WIDTH} {_format_number(height)}",
        },
    )
    SubElement(root, "style").text = files(__package__).joinpath("timeline_svg.css").read_text("utf-8")
    SubElement(root, "rect", {"class": "paper", "width": "100%", "height": "100%", "rx": "6"})
    _draw_text(root, (MARGIN, MARGIN + LINE_HEIGHT / 2), timeline.mission_id, "bold")
    _draw_text(root, (MARGIN, MARGIN + LINE_HEIGHT * 1.5), f"session {timeline.session_id}", "dim")
    above: dict[int, PlacedRow] = {}
    for each in places:
        _draw_lane(root, each, above.get(each.row.depth), places)
        above[each.row.depth] = each
    for each in places:
        _draw_row(root, each)
    _draw_legend(root, height)
    return tostring(root, encoding="unicode") + "\n"


def _draw_lane(root: Element, placed: PlacedRow, above: PlacedRow | None, places: tuple[PlacedRow, ...]) -> None:
    """Draw the line from a row up to the previous one of its branch, or to the fork in its parent."""
    words = [
        "line",
        *(["active"] if placed.row.is_active else []),
        *(["to-come"] if placed.row.marker == "to-come" else []),
    ]
    if placed.row.marker != "branch" and above is not None:
        history = f"M{_format_number(placed.x)} {_format_number(above.y)} V{_format_number(placed.y)}"
    elif placed.row.fork_row is not None:
        origin = places[placed.row.fork_row]
        down = f"M{_format_number(origin.x)} {_format_number(origin.y)} V{_format_number(placed.y - BEND_RADIUS)}"
        corner = (origin.x, placed.y, placed.x, placed.y)
        history = f"{down} Q{' '.join(_format_number(each) for each in corner)}"
    else:
        return
    SubElement(root, "path", {"class": " ".join(words), "d": history})


def _draw_row(root: Element, placed: PlacedRow) -> None:
    row = placed.row
    group = SubElement(root, "g")
    SubElement(group, "title").text = _clean_text(", ".join(part for part in (row.text, row.details) if part))
    if row.marker == "here":
        band = {
            "x": "4",
            "width": str(WIDTH - 8),
            "y": _format_number(placed.top - ROW_GAP / 2),
            "height": _format_number(placed.height + ROW_GAP),
        }
        SubElement(group, "rect", {"class": "band", "rx": "4"} | band)
    _draw_marker(group, row.marker, (placed.x, placed.y), is_active=row.is_active)
    bold = row.marker in {"branch", "here"}
    words = ("bold " if bold else "") + ("active" if row.is_active and bold else "")
    words = "dim" if row.marker == "to-come" else words.strip()
    for number, line in enumerate((*placed.lines, *placed.details)):
        beside = (placed.x + TEXT_OFFSET, placed.y + LINE_HEIGHT * number)
        _draw_text(group, beside, line, words if number < len(placed.lines) else "dim")


def _draw_marker(group: Element, marker: Marker, at: tuple[float, float], *, is_active: bool = False) -> None:
    drawn = SubElement(group, "g", {"transform": f"translate({_format_number(at[0])} {_format_number(at[1])})"})
    match marker:
        case "branch":
            SubElement(drawn, "circle", {"class": "branch active" if is_active else "branch", "r": "6"})
        case "checkpoint":
            SubElement(drawn, "path", {"class": "checkpoint", "d": "M0 -8 L8 0 L0 8 L-8 0 Z"})
        case "here":
            SubElement(drawn, "path", {"class": "here", "d": "M-5 -8 L8 0 L-5 8 Z"})
        case "to-come":
            SubElement(drawn, "circle", {"class": "to-come-mark", "r": "3"})
        case "unverifiable":
            SubElement(drawn, "circle", {"class": marker, "r": "8"})
            SubElement(drawn, "text", {"class": "question", "y": "4"}).text = "?"
        case "faithful" | "diverged":
            SubElement(drawn, "circle", {"class": marker, "r": "8"})
            SubElement(drawn, "path", {"class": "mark", "d": _VERDICT_PATHS[marker]})


def _draw_legend(root: Element, height: float) -> None:
    """Draw the meaning of the markers."""
    y = height - MARGIN - LINE_HEIGHT / 2
    rule = {
        "x1": str(MARGIN),
        "x2": str(WIDTH - MARGIN),
        "y1": _format_number(y - LINE_HEIGHT),
        "y2": _format_number(y - LINE_HEIGHT),
    }
    SubElement(root, "line", {"class": "rule"} | rule)
    x = float(MARGIN + 8)
    for sign in _LEGEND_MARKERS:
        _draw_marker(root, sign, (x, y))
        _draw_text(root, (x + 14, y), sign, "dim")
        x += 14 + CHARACTER_WIDTH * len(sign) + 18


def _draw_text(parent: Element, at: tuple[float, float], text: str, css_class: str) -> None:
    place_of = {"x": _format_number(at[0]), "y": _format_number(at[1] + 4.5)}
    SubElement(parent, "text", ({"class": css_class} if css_class else {}) | place_of).text = _clean_text(text)


def _clean_text(text: str) -> str:
    return _INVALID_XML.sub("\N{REPLACEMENT CHARACTER}", escape_control_characters(text))


def _format_number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
