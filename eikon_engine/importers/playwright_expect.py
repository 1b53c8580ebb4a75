"""Convert Playwright assertions, the calls of `Frame.expect`, to actions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.importers.playwright_lines import get_number, get_text
from eikon_engine.trace.actions import AssertCount, AssertText, SelectorCondition, UrlCondition

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from eikon_engine.trace.record import FileModel
    from eikon_engine.trace.target import Target

_NEGATED: Final = {"to.be.visible": "to.be.hidden", "to.be.hidden": "to.be.visible"}

ConvertedAssertion = tuple[str, dict[str, "JsonValue | FileModel | None"]]


def convert_assertion(params: Mapping[str, JsonValue], target: Target | None) -> ConvertedAssertion | None:
    """Return type and fields of the equivalent action, or None if there is none.

    Playwright retries assertions. `wait_for` actions also wait; texts and counts are asserted immediately.
    """
    expression = get_text(params, "expression")
    if params.get("isNot"):
        expression = _NEGATED.get(expression, "")
    text = _single_text(params)
    match expression:
        case "to.be.visible" | "to.be.hidden" if target is not None:
            condition = SelectorCondition(target=target, state="visible" if expression == "to.be.visible" else "hidden")
            return "wait_for", {"condition": condition}
        case "to.have.url" if text is not None and "*" not in text[0]:
            return "wait_for", {"condition": UrlCondition(url=text[0])}
        case "to.have.text" if target is not None and text is not None:
            return "assert", {"expectation": AssertText(target=target, text=text[0], contains=text[1])}
        case "to.have.count" if target is not None:
            count = max(0, int(get_number(params, "expectedNumber") or 0))
            return "assert", {"expectation": AssertCount(target=target, count=count)}
        case _:
            return None


def _single_text(params: Mapping[str, JsonValue]) -> tuple[str, bool] | None:
    """Return the expected text and whether a substring matches; None for several texts and for patterns."""
    texts = params.get("expectedText")
    only = texts[0] if isinstance(texts, list) and len(texts) == 1 else None
    if not isinstance(only, dict) or not isinstance(only.get("string"), str) or only.get("ignoreCase"):
        return None
    return get_text(only, "string"), bool(only.get("matchSubstring"))
