"""Detect a different form state of the target after the action."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.divergence.comparison import Comparison
    from eikon_engine.outcome.divergence import Divergence


def detect_value(comparison: Comparison) -> Iterator[Divergence]:
    """Compare the value and the checked state of the target field."""
    if comparison.recorded.observation is None or comparison.observed is None:
        return
    recorded, observed = comparison.recorded.observation.target, comparison.observed.target
    if recorded == observed:
        return
    for code, name, shown in (("value-changed", "value", "value"), ("checked-changed", "checked", "checked state")):
        before = getattr(recorded, name, None)
        after = getattr(observed, name, None)
        if before != after:
            yield comparison.make_divergence(
                "value",
                code,
                expected="no field" if recorded is None else repr(before),
                observed="no field" if observed is None else repr(after),
                message=f"The field has a different {shown} after the action.",
            )
