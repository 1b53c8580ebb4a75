"""Render the comparison of two deployments as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.files.text import pluralize
from eikon_engine.outcome.terminal import safe_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.comparison import DeploymentComparison

SHOWN: Final = 4


def render_comparison(comparison: DeploymentComparison) -> str:
    """Return the status, what head does differently and why, and what varies on base."""
    return safe_lines(_lines(comparison)).removesuffix("\n")


def _lines(comparison: DeploymentComparison) -> Iterator[str]:
    yield f"{comparison.mission_id}: {comparison.status}, head {comparison.head}, base {comparison.base}"
    outcome = comparison.outcome
    if outcome is not None and outcome.explanation is not None:
        yield f"  {outcome.explanation.sentence}"
        yield f"  why: {outcome.explanation.why}"
    yield from _list("because", comparison.reasons)
    yield from _list("not compared, since it varies on base", comparison.learned)
    noise = [f"{each.step}: {each.code or each.kind}: {each.message}" for each in comparison.noise]
    yield from _list("varies on base as well", noise)


def _list(title: str, texts: tuple[str, ...] | list[str]) -> Iterator[str]:
    yield from (f"  {title}: {each}" for each in texts[:SHOWN])
    if len(texts) > SHOWN:
        yield f"  and {pluralize(len(texts) - SHOWN, 'more line')} of this kind; --json lists all"
