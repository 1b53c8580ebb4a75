"""Detect a different value of what an action read from the page."""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Final

from eikon_engine.files.text import shorten_pair
from eikon_engine.trace.actions import Evaluate, Expect, Read
from eikon_engine.trace.execution import Failed, Succeeded
from eikon_engine.trace.read_values import is_same_value, value_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.divergence import Divergence
    from eikon_engine.trace.actions import ReadValue
    from eikon_engine.trace.execution import ActionTrace, Result

READ_CHANGED: Final = "read-changed"
_MAX_SHOWN: Final = 500


def detect_read(comparison: Comparison) -> Iterator[Divergence]:
    """Compare what the agent got with what the replay got; for a failed assertion, what the page had instead."""
    expected = recorded_value(comparison.recorded, comparison.result)
    observed = comparison.observed.value if comparison.observed is not None else None
    if expected is None or observed is None:
        return
    if is_same_value(comparison.recorded.action, expected, observed, comparison.read_texts):
        return
    before, now = comparison.read_texts or (None, None)
    is_script = isinstance(comparison.recorded.action, Evaluate)
    sides = (_shown(expected, before), _shown(observed, now))
    shown = shorten_pair(*sides, _MAX_SHOWN) if expected.long is not None or observed.long is not None else sides
    yield comparison.make_divergence(
        "value" if is_script else "result",
        READ_CHANGED,
        expected=shown[0],
        observed=shown[1],
        message=f"The {'script' if is_script else 'read'} returned a different value than in the recording.",
        detail="" if before is None or now is None else _difference(before, now),
    )


def recorded_value(recorded: ActionTrace, observed: Result) -> ReadValue | None:
    """Return the recorded value to compare with; None if there is none, or if the results differ already."""
    action = recorded.action
    if isinstance(recorded.result, Succeeded) and isinstance(observed, Succeeded):
        return action.value if isinstance(action, Read | Evaluate) else None
    if isinstance(recorded.result, Failed) and isinstance(observed, Failed):
        return action.received if isinstance(action, Expect) else None
    return None


def _shown(value: ReadValue, text: str | None) -> str:
    if value.long is None:
        return value_text(value.value)
    if text is None:
        return f"{value.long.size} bytes, SHA-256 {value.long.sha256}"
    return text


def _difference(before: str, now: str) -> str:
    """Return the changed lines of two long values."""
    lines = difflib.unified_diff(_lines(before), _lines(now), "recorded", "observed", n=1, lineterm="")
    return "\n".join(lines)


def _lines(text: str) -> list[str]:
    value = json.loads(text)
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)).splitlines()
