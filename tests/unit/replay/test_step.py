"""After a divergence, pages are waited for until they have done what was recorded, and no longer."""

from __future__ import annotations

import pytest

from eikon_engine.replay.step import _has_happened
from eikon_engine.trace.observation import Observation

RECORDED = Observation(pages=(), requests=("GET http://a/", "GET http://a/"), opened=(1,))
OBSERVED = {
    "the same": (RECORDED, True),
    "more": (RECORDED.model_copy(update={"requests": (*RECORDED.requests, "GET http://a/b"), "opened": (1, 2)}), True),
    "one request less": (RECORDED.model_copy(update={"requests": ("GET http://a/",)}), False),
    "no page": (RECORDED.model_copy(update={"opened": ()}), False),
    "nothing observed": (None, True),
}


@pytest.mark.parametrize("case", OBSERVED)
def test_what_was_recorded_has_happened(case: str) -> None:
    """Whatever else has."""
    observed, happened = OBSERVED[case]

    assert _has_happened(RECORDED, observed) == happened
    assert _has_happened(None, observed)
