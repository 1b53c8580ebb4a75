"""Ask for the element that a call of somebody else is about, in the same breath: the answer is not waited for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.trace.target import Identity

if TYPE_CHECKING:
    from collections.abc import Mapping

_WANTED: Final = {"visible": True, "enabled": True, "editable": False, "pointer": False, "position": None}
_SEEN: Final = f"window.__eikon__?.sight?.(elements, {json.dumps(_WANTED)}) ?? null"
_SIGHT: Final = f"JSON.stringify({_SEEN})"
_PATH: Final = """each => {
  const root = each.getRootNode(), parent = each.parentElement;
  const outer = () => root.host ? path(root.host) + ' ' : '';
  const id = each.id && '#' + CSS.escape(each.id);
  if (id && root.querySelectorAll(id).length === 1) return outer() + id;
  const alike = parent ? [...parent.children].filter(other => other.localName === each.localName) : [each];
  const own = CSS.escape(each.localName) + (alike.length > 1 ? `:nth-of-type(${alike.indexOf(each) + 1})` : '');
  return (parent ? path(parent) + ' > ' : outer()) + own;
}"""
OF_SELECTOR: Final = f"elements => {_SIGHT}"
SOUGHT: Final = """(elements, told) =>
  JSON.stringify(window.__eikon__?.seek?.(elements, JSON.parse(told)) ?? null)"""
"""The same, of a target by its name, and whether it was hit: see init_hits.js. True begins a call, and forgets hits."""
OF_HANDLE: Final = f"""element => {{
  const elements = [element], seen = {_SEEN}, path = {_PATH};
  return JSON.stringify({{ count: 1, ...seen, path: path(element) }});
}}"""
"""Handles of file choosers live in another world than our scripts: of their elements it gives the path alone."""
_HIT: Final = """(document, x, y) => {
  let hit = document.elementFromPoint(x, y);
  while (hit?.shadowRoot) {
    const inner = hit.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  return hit ? [hit] : [];
}"""
AT_POINT: Final = f"""told => {{
  const elements = ({_HIT})(document, ...JSON.parse(told));
  return {_SIGHT};
}}"""
IN_MIDDLE: Final = f"""(found, told) => {{
  const [element] = [found].flat(), within = JSON.parse(told);
  const box = element.getBoundingClientRect();
  let x = box.x + (within ? within[0] : box.width / 2), y = box.y + (within ? within[1] : box.height / 2);
  let frame = window;
  for (; frame !== frame.parent; frame = frame.parent) {{
    const outer = frame.frameElement, around = outer.getBoundingClientRect();
    x += around.x + outer.clientLeft;
    y += around.y + outer.clientTop;
  }}
  const elements = ({_HIT})(frame.document, x, y), seen = frame.{_SEEN.removeprefix("window.")};
  return JSON.stringify(seen && {{ ...seen, place: [x, y] }});
}}"""
"""What lies in the middle of an element, or at a place in it: where the pointer is after it acted there."""
FOCUSED: Final = f"""() => {{
  const deep = document => {{
    let found = document.activeElement;
    while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
    return found;
  }};
  let has = !/^i?frame$/i.test(deep(document)?.tagName);
  for (let frame = window; has && frame.frameElement; frame = frame.parent)
    has = deep(frame.parent.document) === frame.frameElement;
  const elements = has && document.activeElement ? [deep(document)] : [];
  return {_SIGHT};
}}"""
"""Scripts that init scripts of ours have prepared the documents for; those without give nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """What a call is about, at one moment."""

    count: int
    """How many elements match."""
    identity: Identity | None = None
    """Of the element, if it is one."""
    is_ready: bool = False
    """Whether a call would act on it at once."""
    path: str = ""
    """A selector made of places, where it was asked for by a handle."""
    place: tuple[float, float] | None = None
    """Where on the page the pointer is, if that was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What a target is at one moment, and whether the action has come to it."""

    element: Element
    document: float
    """Stands for the document: when it began, in ms."""
    is_early: bool
    """Whether nothing in its document was hit since the call began."""
    was_hit: bool = False
    """Whether it was hit, or what was found before was."""
    before: Identity | None = None
    """What it was before it was hit; None where that is not known."""


def argument(told: object = None) -> dict[str, Any]:
    """Write an argument of a script as the protocol does: a text of JSON, or nothing."""
    value = {"v": "null"} if told is None else {"s": json.dumps(told)}
    return {"value": value, "handles": []}


def read_element(answer: Mapping[str, Any]) -> Element | None:
    """Read the answer; None where the document had not been prepared."""
    told = _told(answer)
    return None if told is None else _element(told)


def read_sought(answer: Mapping[str, Any]) -> Sought | None:
    """Read the answer about a target; None where the document had not been prepared."""
    told = _told(answer)
    if told is None:
        return None
    return Sought(
        element=_element(told),
        document=float(told["document"]),
        is_early=bool(told["is_early"]),
        was_hit=bool(told["was_hit"]),
        before=_identity(told["before"]),
    )


def _told(answer: Mapping[str, Any]) -> dict[str, Any] | None:
    text = answer.get("value", {}).get("s")
    told: dict[str, Any] | None = json.loads(text) if text else None
    return told


def _element(told: Mapping[str, Any]) -> Element:
    place = told.get("place")
    return Element(
        count=int(told["count"]),
        identity=_identity(told.get("identity")),
        is_ready=told["count"] == 1 and not told.get("obstacle", "unknown"),
        path=told.get("path", ""),
        place=None if place is None else (float(place[0]), float(place[1])),
    )


def _identity(told: Mapping[str, Any] | None) -> Identity | None:
    return Identity.model_validate(told, strict=False) if told else None
