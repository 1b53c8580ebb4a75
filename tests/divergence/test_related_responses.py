"""Differences of pages are explained by responses whose changed values they show."""

from __future__ import annotations

import pytest

from eikon_engine.divergence.related_responses import MAX_EXPLANATIONS, explain_by_responses
from eikon_engine.outcome.outcomes import ResponseChange, ValueChange

HERE = ("buy__attempt_1", 2)


def changed(recorded: str, live: str, sequence: int = 2, key: str = "GET http://h/api") -> ResponseChange:
    """Return a response with one changed value."""
    value = ValueChange(part="body $.v", recorded=recorded, live=live)
    return ResponseChange(key=key, occurrence=0, subgoal=HERE[0], sequence=sequence, what=(value,))


def test_a_value_that_the_page_shows_is_the_reason() -> None:
    """Of two changed responses, the one whose price is on the page is named."""
    changes = [changed("red", "blue"), changed("3.10", "3.50", key="GET http://h/price")]

    found = explain_by_responses([("Total 3.10 €", "Total 3.50 €")], changes, HERE)

    assert found == ("GET http://h/price: body $.v: recorded 3.10, live 3.50",)


def test_an_earlier_response_can_be_the_reason() -> None:
    """The page shows a value that arrived during the previous action; the reason names that action."""
    found = explain_by_responses([("3.10", "3.50")], [changed("3.10", "3.50", sequence=1)], HERE)

    assert found == ("GET http://h/api (at step 1 of buy__attempt_1): body $.v: recorded 3.10, live 3.50",)


def test_without_a_shared_value_the_responses_of_the_action_are_named() -> None:
    """If no value matches, the responses of the action are listed, earlier ones are not."""
    changes = [changed("red", "blue", sequence=1), changed("310", "350")]

    found = explain_by_responses([("3.10", "3.50")], changes, HERE)

    assert found == ("GET http://h/api: body $.v: recorded 310, live 350",)


def test_without_responses_of_the_action_the_last_earlier_ones_are_named() -> None:
    """A script that arrived two actions earlier has changed, and no response since."""
    changes = [changed("red", "blue", sequence=1, key="GET http://h/a.js"), changed("up", "down", sequence=0)]

    found = explain_by_responses([("3.10", "3.50")], changes[::-1], HERE)

    assert found == ("GET http://h/a.js (at step 1 of buy__attempt_1): body $.v: recorded red, live blue",)


@pytest.mark.parametrize(
    ("recorded", "live", "expected", "observed", "explains"),
    [
        ("3", "4", "30", "40", False),  # a part of a number is another number
        ("3.5", "4.5", "3.50 €", "4.50 €", True),  # the same number, formatted differently
        ("3.10", "3.50", "3.10", "3.60", False),  # a match on one side only may be a coincidence
        ("(absent)", "Sold out", "", "Sold out today", True),
        ("Pear", "(absent)", "Pear", "", True),
        ("Grace is online", "Grace is away", "No one is online", "Grace is away", True),  # it was not shown yet
        ("online", "away", "No one is online yet", "She is away", True),
        ("up", "down", "nothing", "down", False),  # a short text may be there by chance
        ("true", "false", "true", "false", False),  # too common to be evidence
        ("(absent)", "(absent)", "x", "y", False),
    ],
)
def test_a_value_explains_only_what_shows_it(
    recorded: str, live: str, expected: str, observed: str, *, explains: bool
) -> None:
    """Both sides of a value must occur, each on its side and as a whole."""
    earlier, other = changed(recorded, live, sequence=1), changed("some", "other")

    found = explain_by_responses([(expected, observed)], [earlier, other], HERE)

    assert ("at step 1 of buy__attempt_1" in found[0]) == explains


def test_no_more_is_named_than_a_person_reads() -> None:
    """If twenty responses changed, only the first few are named."""
    changes = [changed(f"a{number}", f"b{number}") for number in range(20)]

    assert len(explain_by_responses([("x", "y")], changes, HERE)) == MAX_EXPLANATIONS
