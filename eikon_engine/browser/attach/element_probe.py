"""Scripts that describe the element of a call, and parsers for their results.

They run just before and during the agent's call, without delaying it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.trace.target import Identity

if TYPE_CHECKING:
    from collections.abc import Mapping

_ACTIONABILITY: Final = {"visible": True, "enabled": True, "editable": False, "pointer": False, "position": None}
_DESCRIBE: Final = f"window.__eikon__?.inspect?.(elements, {json.dumps(_ACTIONABILITY)}) ?? null"
_DESCRIBE_AS_JSON: Final = f"JSON.stringify({_DESCRIBE})"
_CSS_PATH: Final = """each => {
  const root = each.getRootNode(), parent = each.parentElement;
  const outer = () => root.host ? path(root.host) + ' ' : '';
  const id = each.id && '#' + CSS.escape(each.id);
  if (id && root.querySelectorAll(id).length === 1) return outer() + id;
  const alike = parent ? [...parent.children].filter(other => other.localName === each.localName) : [each];
  const own = CSS.escape(each.localName) + (alike.length > 1 ? `:nth-of-type(${alike.indexOf(each) + 1})` : '');
  return (parent ? path(parent) + ' > ' : outer()) + own;
}"""
DESCRIBE_MATCHES: Final = f"""found => {{
  const elements = found.filter(each => each.isConnected);
  return {_DESCRIBE_AS_JSON};
}}"""
DESCRIBE_TARGET: Final = """(elements, value) =>
  JSON.stringify(window.__eikon__?.probeTarget?.(elements, JSON.parse(value)) ?? null)"""
"""Describe a named target and whether it was hit, see init_hit_targets.js. True marks a new call and forgets earlier
hits.
"""
DESCRIBE_HANDLE: Final = f"""element => {{
  const elements = [element], seen = {_DESCRIBE}, path = {_CSS_PATH};
  return JSON.stringify({{ count: 1, ...seen, path: path(element) }});
}}"""
"""Handles of file choosers live in another world than our scripts; only their path is available."""
DESCRIBE_AT_POINT: Final = "point => JSON.stringify(window.__eikon__?.describeAt?.(...JSON.parse(point)) ?? null)"
"""Describe what lay at a point when an event came there; see init_hit_targets.js."""
EXPECT_RAW_INPUT: Final = "() => { window.__eikon__?.expectRawInput?.(); }"
DESCRIBE_AT_CENTER: Final = f"""(found, given) => {{
  const [element] = [found].flat(), [within, type, begun] = JSON.parse(given);
  const event = window === top && window.__eikon__?.describeEvent?.(type, begun);
  if (event) return JSON.stringify(event);
  const box = element.getBoundingClientRect();
  let x = box.x + (within ? within[0] : box.width / 2), y = box.y + (within ? within[1] : box.height / 2);
  let frame = window;
  for (; frame !== frame.parent; frame = frame.parent) {{
    const outer = frame.frameElement, around = outer.getBoundingClientRect();
    x += around.x + outer.clientLeft;
    y += around.y + outer.clientTop;
  }}
  const elements = frame.__eikon__?.elementsAt?.(x, y) ?? [], seen = frame.{_DESCRIBE.removeprefix("window.")};
  return JSON.stringify(seen && {{ ...seen, place: [x, y] }});
}}"""
"""Describe what lay under the pointer when an event came, or lies at the centre of an element or an offset in it: the
pointer is there after acting on it."""
DESCRIBE_FOCUSED: Final = f"""() => {{
  const deep = document => {{
    let found = document.activeElement;
    while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
    return found;
  }};
  let has = !/^i?frame$/i.test(deep(document)?.tagName);
  for (let frame = window; has && frame.frameElement; frame = frame.parent)
    has = deep(frame.parent.document) === frame.frameElement;
  const elements = has && document.activeElement ? [deep(document)] : [];
  return {_DESCRIBE_AS_JSON};
}}"""
"""These scripts need documents prepared by our init scripts; other documents return null."""


PROBE_ENGINE: Final = "eikon-probe"
PROBE_ENGINE_SOURCE: Final = """(() => {
  let found = [];
  return {
    queryAll(node, part) {
      if (part === 'match') {
        found.push(node);
        return [];
      }
      const matches = found, carrier = document.createElement('a');
      found = [];
      carrier.textContent = part;
      carrier.addEventListener('eikon:ask', () => {
        for (const match of matches) {
          if (match.isConnected) match.dispatchEvent(new Event('eikon:match', { composed: true }));
          else carrier.dispatchEvent(new FocusEvent('eikon:match', { relatedTarget: match }));
        }
      });
      const isReported = !performance.dispatchEvent(
        new FocusEvent('eikon:probe', { relatedTarget: carrier, cancelable: true }));
      return isReported ? [carrier] : [];
    },
  };
})()"""
"""A selector engine that has the document report what a selector matches; see init_hit_targets.js.

Playwright resolves selectors in a world of its own. To run a script on all matches in that of the page, or to return a
handle, it loads its scripts there, too: about 10 ms in each document, for which the agent's call waits.
"""
_NOT_EXTENSIBLE: Final = re.compile(r"(?:^|>>)\s*\*|internal:control=")
"""In selectors with a capture (`*css=...`), which what follows only filters; with frames, which may be missing; and
with a part that begins with CSS's `*`.
"""


def probe_selector(selector: str, probe: str, slot: str, *, is_new_call: bool) -> str | None:
    """Return a selector with one match if the document reports what `selector` matches, and none otherwise.

    The report, with the subject `target`, has `probe` and what DESCRIBE_TARGET returns (`seen`). None if nothing may be
    appended to the selector: also if it has a single quote character, which Playwright ignores only in selectors of one
    part.
    """
    is_unbalanced = any(selector.count(quote) % 2 for quote in "\"'`")
    if is_unbalanced or _NOT_EXTENSIBLE.search(selector):
        return None
    reported = json.dumps(f"{PROBE_ENGINE}={json.dumps([probe, slot, is_new_call])}")
    return f"{selector} >> {PROBE_ENGINE}=match >> internal:or={reported}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ElementSnapshot:
    """What a call acts on, at one moment."""

    count: int
    """Number of matching elements."""
    identity: Identity | None = None
    """Identity of the element if exactly one matches."""
    is_actionable: bool = False
    """Whether the element is actionable."""
    path: str = ""
    """Positional CSS path, if it was probed by a handle."""
    point: tuple[float, float] | None = None
    """Pointer position on the page, if it was probed."""
    unix_ms: float | None = None
    """Unix time at which its document was probed, if the document was prepared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSnapshot:
    """A target at one moment, and whether the action has reached it."""

    element: ElementSnapshot
    document: float
    """Identifies the document by its time origin, in ms."""
    is_before_any_hit: bool
    """Whether no element of the document was hit since the call started."""
    was_hit: bool = False
    """Whether the element, or the one matched before, was hit."""
    identity_before_hit: Identity | None = None
    """Identity before the hit; None if unknown."""


def serialize_argument(data: object = None) -> dict[str, Any]:
    """Serialize a script argument for the protocol: JSON text or null."""
    value = {"v": "null"} if data is None else {"s": json.dumps(data)}
    return {"value": value, "handles": []}


def decode_result(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Decode what a script returned."""
    text = result.get("value", {}).get("s")
    data: dict[str, Any] | None = json.loads(text) if text else None
    return data


def parse_element(data: Mapping[str, Any] | None) -> ElementSnapshot | None:
    """Parse a description; None if the document was not prepared."""
    return None if data is None else _element(data)


def parse_target(data: Mapping[str, Any] | None) -> TargetSnapshot | None:
    """Parse the description of a target; None if the document was not prepared."""
    if data is None:
        return None
    return TargetSnapshot(
        element=_element(data),
        document=float(data["document"]),
        is_before_any_hit=bool(data["is_early"]),
        was_hit=bool(data["was_hit"]),
        identity_before_hit=_identity(data["before"]),
    )


def _element(data: Mapping[str, Any]) -> ElementSnapshot:
    place = data.get("place")
    return ElementSnapshot(
        count=int(data["count"]),
        identity=_identity(data.get("identity")),
        is_actionable=data["count"] == 1 and not data.get("obstacle", "unknown"),
        path=data.get("path", ""),
        point=None if place is None else (float(place[0]), float(place[1])),
        unix_ms=data.get("at"),
    )


def _identity(data: Mapping[str, Any] | None) -> Identity | None:
    return Identity.model_validate(data, strict=False) if data else None
