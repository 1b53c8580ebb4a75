"""Draw a timeline as SVG: one line per branch, leaving its parent at the fork.

The SVG has colours for light and dark themes. Texts are wrapped to keep it narrow. Verdicts differ in shape, not
only in colour.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING, Final, get_args
from xml.etree.ElementTree import Element, SubElement, tostring

from eikon_engine.debug.timeline_rows import ADVANCE, BESIDE, GAP, LINE, place
from eikon_engine.debug.timeline_tree import grow
from eikon_engine.outcome.outcomes import Verdict
from eikon_engine.outcome.printable import printable

if TYPE_CHECKING:
    from eikon_engine.debug.timeline import Timeline
    from eikon_engine.debug.timeline_rows import Place, Sign

WIDTH: Final = 480
"""Pixels; scaled down if less space is available."""
MARGIN: Final = 16
HEAD: Final = 64
LEGEND: Final = 44
BEND: Final = 14
"""Radius of the curve where a branch leaves its parent."""

_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters not allowed in XML: https://www.w3.org/TR/xml/#charsets."""
_VERDICTS: Final[tuple[Verdict, ...]] = get_args(Verdict)
_SHOWN: Final[tuple[Sign, ...]] = (*_VERDICTS, "checkpoint")
_MARKS: Final = {
    "faithful": "M-3.2 0.2 L-0.8 2.8 L3.4 -2.6",
    "diverged": "M-2.7 -2.7 L2.7 2.7 M2.7 -2.7 L-2.7 2.7",
}


def draw_timeline(timeline: Timeline) -> str:
    """Return the timeline as an SVG document."""
    places = place(grow(timeline), left=MARGIN + 8, top=HEAD, right=WIDTH - MARGIN)
    height = places[-1].top + places[-1].height + GAP + LEGEND
    root = Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "class": "timeline",
            "role": "img",
            "aria-label": _text(f"Timeline of mission {timeline.mission_id}, session {timeline.session_id}"),
            "width": str(WIDTH),
            "height": _number(height),
            "viewBox": f"0 0 {WIDTH} {_number(height)}",
        },
    )
    SubElement(root, "style").text = files(__package__).joinpath("timeline_svg.css").read_text("utf-8")
    SubElement(root, "rect", {"class": "paper", "width": "100%", "height": "100%", "rx": "6"})
    _write(root, (MARGIN, MARGIN + LINE / 2), timeline.mission_id, "bold")
    _write(root, (MARGIN, MARGIN + LINE * 1.5), f"session {timeline.session_id}", "dim")
    above: dict[int, Place] = {}
    for each in places:
        _line(root, each, above.get(each.row.depth), places)
        above[each.row.depth] = each
    for each in places:
        _row(root, each)
    _legend(root, height)
    return tostring(root, encoding="unicode") + "\n"


def _line(root: Element, at: Place, above: Place | None, places: tuple[Place, ...]) -> None:
    """Draw the line from a row up to the previous one of its branch, or to the fork in its parent."""
    words = ["line", *(["active"] if at.row.is_active else []), *(["to-come"] if at.row.sign == "to-come" else [])]
    if at.row.sign != "branch" and above is not None:
        history = f"M{_number(at.x)} {_number(above.y)} V{_number(at.y)}"
    elif at.row.forks_at is not None:
        origin = places[at.row.forks_at]
        down = f"M{_number(origin.x)} {_number(origin.y)} V{_number(at.y - BEND)}"
        history = f"{down} Q{_number(origin.x)} {_number(at.y)} {_number(at.x)} {_number(at.y)}"
    else:
        return
    SubElement(root, "path", {"class": " ".join(words), "d": history})


def _row(root: Element, at: Place) -> None:
    row = at.row
    group = SubElement(root, "g")
    SubElement(group, "title").text = _text(", ".join(part for part in (row.text, row.about) if part))
    if row.sign == "here":
        band = {"x": "4", "width": str(WIDTH - 8), "y": _number(at.top - GAP / 2), "height": _number(at.height + GAP)}
        SubElement(group, "rect", {"class": "band", "rx": "4"} | band)
    _sign(group, row.sign, (at.x, at.y), is_active=row.is_active)
    bold = row.sign in {"branch", "here"}
    words = ("bold " if bold else "") + ("active" if row.is_active and bold else "")
    words = "dim" if row.sign == "to-come" else words.strip()
    for number, line in enumerate((*at.lines, *at.about)):
        beside = (at.x + BESIDE, at.y + LINE * number)
        _write(group, beside, line, words if number < len(at.lines) else "dim")


def _sign(group: Element, sign: Sign, at: tuple[float, float], *, is_active: bool = False) -> None:
    drawn = SubElement(group, "g", {"transform": f"translate({_number(at[0])} {_number(at[1])})"})
    match sign:
        case "branch":
            SubElement(drawn, "circle", {"class": "branch active" if is_active else "branch", "r": "6"})
        case "checkpoint":
            SubElement(drawn, "path", {"class": "checkpoint", "d": "M0 -8 L8 0 L0 8 L-8 0 Z"})
        case "here":
            SubElement(drawn, "path", {"class": "here", "d": "M-5 -8 L8 0 L-5 8 Z"})
        case "to-come":
            SubElement(drawn, "circle", {"class": "to-come-mark", "r": "3"})
        case "unverifiable":
            SubElement(drawn, "circle", {"class": sign, "r": "8"})
            SubElement(drawn, "text", {"class": "question", "y": "4"}).text = "?"
        case "faithful" | "diverged":
            SubElement(drawn, "circle", {"class": sign, "r": "8"})
            SubElement(drawn, "path", {"class": "mark", "d": _MARKS[sign]})


def _legend(root: Element, height: float) -> None:
    """Draw the meaning of the markers."""
    y = height - MARGIN - LINE / 2
    rule = {"x1": str(MARGIN), "x2": str(WIDTH - MARGIN), "y1": _number(y - LINE), "y2": _number(y - LINE)}
    SubElement(root, "line", {"class": "rule"} | rule)
    x = float(MARGIN + 8)
    for sign in _SHOWN:
        _sign(root, sign, (x, y))
        _write(root, (x + 14, y), sign, "dim")
        x += 14 + ADVANCE * len(sign) + 18


def _write(parent: Element, at: tuple[float, float], text: str, words: str) -> None:
    place_of = {"x": _number(at[0]), "y": _number(at[1] + 4.5)}
    SubElement(parent, "text", ({"class": words} if words else {}) | place_of).text = _text(text)


def _text(text: str) -> str:
    return _IN_XML.sub("\N{REPLACEMENT CHARACTER}", printable(text))


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
