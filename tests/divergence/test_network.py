"""The order of requests that change data on the server is compared where only the page determines it."""

from __future__ import annotations

import pytest

from eikon_engine.divergence.comparison import Comparison, StepPosition
from eikon_engine.divergence.detectors.network import detect_network
from eikon_engine.trace.actions import Note
from eikon_engine.trace.execution import ActionTrace, Succeeded
from eikon_engine.trace.observation import Observation

STOCK, PAY = "PUT http://shop.test/stock", "POST http://shop.test/payment"


def found(before: tuple[str, ...] | None, after: tuple[str, ...] | None, *, sealed: bool = True) -> list[str]:
    """Return expected and observed values of the difference."""
    recorded = Observation(pages=(), requests=tuple(sorted(before or ())), writes=before)
    comparison = Comparison(
        position=StepPosition(subgoal="s__attempt_1", subgoal_id="s", sequence=1),
        recorded=ActionTrace(id="a", sequence=1, action=Note(text="x"), result=Succeeded(), observation=recorded),
        result=Succeeded(),
        observed=Observation(pages=(), requests=tuple(sorted(after or ())), writes=after),
        is_sealed=sealed,
    )
    return [f"{each.code}: {each.expected}; {each.observed}" for each in detect_network(comparison)]


def test_a_different_order_is_reported_from_its_first_position() -> None:
    """The payment is sent before the stock request."""
    assert found((STOCK, PAY, PAY), (STOCK, PAY, PAY)) == []
    assert found((PAY, STOCK, PAY), (PAY, PAY, STOCK)) == [
        f"request-order-changed: {STOCK} as request 2 of 3; {PAY} instead"
    ]


@pytest.mark.parametrize("sealed", [True, False])
def test_an_unrecorded_order_is_not_compared(*, sealed: bool) -> None:
    """Requests without a recorded order, or to a live server, are not compared by order."""
    assert found(None, (STOCK,), sealed=sealed) == [f"request-unexpected: no such request; {STOCK}"]
    assert found((STOCK, PAY), (PAY, STOCK), sealed=False) == []


def test_a_missing_request_is_not_a_different_order() -> None:
    """A missing request is reported as missing only."""
    assert found((STOCK, PAY), (PAY,)) == [f"request-missing: {STOCK}; no such request"]
