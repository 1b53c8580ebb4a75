"""Ask for the element that a call of somebody else is about, in the same breath: the answer is not waited for."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.trace.target import Identity

if TYPE_CHECKING:
    from collections.abc import Mapping

_WANTED: Final = {"visible": True, "enabled": True, "editable": False, "pointer": False, "position": None}
_SIGHT: Final = f"JSON.stringify(window.__eikon__?.sight?.(elements, {json.dumps(_WANTED)}) ?? null)"
OF_SELECTOR: Final = f"elements => {_SIGHT}"
OF_HANDLE: Final = f"element => {{ const elements = [element]; return {_SIGHT}; }}"
AT_POINT: Final = f"""told => {{
  const [x, y] = JSON.parse(told);
  let hit = document.elementFromPoint(x, y);
  while (hit?.shadowRoot) {{
    const inner = hit.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }}
  const elements = hit ? [hit] : [];
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


def argument(told: object = None) -> dict[str, Any]:
    """Write an argument of a script as the protocol does: a text of JSON, or nothing."""
    value = {"v": "null"} if told is None else {"s": json.dumps(told)}
    return {"value": value, "handles": []}


def read_element(answer: Mapping[str, Any]) -> Element | None:
    """Read the answer; None where the document had not been prepared."""
    text = answer.get("value", {}).get("s")
    told = json.loads(text) if text else None
    if told is None:
        return None
    identity = told["identity"]
    return Element(
        count=int(told["count"]),
        identity=Identity.model_validate(identity, strict=False) if identity else None,
        is_ready=told["count"] == 1 and not told["obstacle"],
    )
