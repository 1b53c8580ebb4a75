"""Page intents of older recordings are judged again."""

from __future__ import annotations

import pytest

from eikon_engine.divergence.comparison import StepPosition
from eikon_engine.dom import PageSnapshot
from eikon_engine.replay.step import PageIntentComparer
from eikon_engine.skills import default_skills
from eikon_engine.trace.execution import PageIntent
from tests.skills.rerun.recorded import element, page

pytestmark = pytest.mark.browser

PLACE = StepPosition(subgoal="s", subgoal_id="s", sequence=1)
LOGIN = page(
    element(
        "form",
        element("input", name="user"),
        element("input", type="password", autocomplete="current-password"),
        element("button", "Log in"),
    )
)
NOTICE = page(element("p", "The shop is closed."))


@pytest.mark.parametrize(
    ("intent", "recorded", "observed", "found"),
    [
        ("login_form", LOGIN, LOGIN, []),
        ("login_form", LOGIN, NOTICE, [("page-intent-changed", "login_form", "unknown")]),
        ("dashboard", LOGIN, NOTICE, []),
        ("login_form", None, NOTICE, []),
        ("login_form", LOGIN, None, []),
    ],
    ids=["same", "another", "judged differently", "no page then", "no page now"],
)
def test_a_page_that_is_taken_for_something_else_diverges(
    intent: str, recorded: PageSnapshot | None, observed: PageSnapshot | None, found: list[tuple[str, str, str]]
) -> None:
    """Intents are compared only if both pages are known and the recorded page has its recorded intent."""
    intents = PageIntentComparer((PageIntent(id="i", intent=intent, step_id="a1"),), default_skills())

    divergences = list(intents.compare(PLACE, "a1", recorded, observed))

    assert [(each.code, each.expected, each.observed) for each in divergences] == found
    assert list(intents.compare(PLACE, "a2", recorded, observed)) == []
