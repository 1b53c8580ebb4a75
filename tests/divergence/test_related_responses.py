"""Differences of pages are explained by responses whose changed values they show."""

from __future__ import annotations

import json

import pytest

from eikon_engine.divergence.related_responses import MAX_EXPLANATIONS, explain_by_responses
from eikon_engine.divergence.response_diff import diff_bodies
from eikon_engine.outcome.outcomes import ResponseChange, ValueChange

HERE = ("buy__attempt_1", 2)
JSON = {"application/json"}
MOVED = ((1, "3", "4"), (2, "4", "3"))
ORDER = ((1, "rice", "salt"), (2, "salt", "rice"))


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


def test_a_response_whose_values_the_page_does_not_show_is_not_named() -> None:
    """Neither a response of the action nor an earlier one explains a text that has nothing to do with it."""
    changes = [changed("red", "blue", sequence=1), changed("310", "360")]

    assert explain_by_responses([("3.10", "3.50")], changes, HERE) == ()


@pytest.mark.parametrize(
    ("recorded", "live", "expected", "observed", "explains"),
    [
        ("", "<aside> Sale! </aside>", "", "<aside>Sale!", True),
        ("button", "button disabled", "", "disabled true", True),
        ("const a = f(", "const a = none; const _ = f(", "none", "ReferenceError: none is not defined", True),
        ("const a = f(", "const a = g(", "Total 3", "Total 4", False),
        ("v=spring", "v=autumn", "spring", "autumn", True),
        ("v=spring", "v=autumn", "spring", "winter", False),
        ("/app.js?v=3", "/app.js?v=4", "3 items", "4 items", False),
        ("v=3", "v=4", "3 items", "4 items", False),
        ("<b>at</b> 3", "<b>to</b> 4 carts", "at 3 items", "to 4 carts", False),
        ('<script src="/spring.js">', '<script src="/autumn.js">', "spring", "autumn", False),
        ("hidden=true", "hidden=false", "true", "false", False),
    ],
)
def test_markup_and_scripts_explain_by_the_words_that_differ(
    recorded: str, live: str, expected: str, observed: str, *, explains: bool
) -> None:
    """The page shows neither tags nor code as the response has them."""
    values = (ValueChange(part="body line 4", recorded=recorded or "(absent)", live=live),)
    page = changed("", "").model_copy(update={"what": values})

    assert bool(explain_by_responses([(expected, observed)], [page], HERE)) == explains


def test_a_value_in_another_place_explains_another_order() -> None:
    """The moved element shows the same value before and after."""
    values = [ValueChange(part=f"body $[{place}]", recorded=one, live=other) for place, one, other in ORDER]
    page = changed("", "").model_copy(update={"what": tuple(values)})

    found = explain_by_responses([("rice as child 2", "rice as child 3")], [page], HERE)

    assert found == ("GET http://h/api: body $[1]: recorded rice, live salt",)


def test_a_number_that_moved_explains_nothing() -> None:
    """A digit is in many places by chance."""
    values = [ValueChange(part=f"body $[{place}]", recorded=one, live=other) for place, one, other in MOVED]
    page = changed("", "").model_copy(update={"what": tuple(values)})

    assert explain_by_responses([("3 items", "3 items in cart")], [page], HERE) == ()


@pytest.mark.parametrize("media_type", ["application/json", "text/html"])
@pytest.mark.parametrize("size", [1, 40])
def test_a_page_that_shows_a_long_text_shows_its_changed_part(media_type: str, size: int) -> None:
    """The surroundings of a difference that are stored of a long text begin and end with a whole word."""
    before, after = (
        f"{'introduction ' * 30}{' '.join([word] * size)}{' afterwards' * 30}" for word in ("cheap", "expensive")
    )
    bodies = [json.dumps([each]) if "json" in media_type else f"<p>{each}</p>" for each in (before, after)]
    values = tuple(diff_bodies(bodies[0].encode(), bodies[1].encode(), {media_type}))
    page = changed("", "").model_copy(update={"what": values})

    assert explain_by_responses([(before, after)], [page], HERE)


def test_a_long_text_that_was_added_explains_where_it_is_shown() -> None:
    """Its beginning is stored, which ends in a word."""
    text = "introduction " * 30
    page = changed("", "").model_copy(
        update={"what": tuple(diff_bodies(b"{}", json.dumps({"a": text}).encode(), JSON))}
    )

    assert explain_by_responses([("", f"Read: {text}")], [page], HERE)
    assert explain_by_responses([("", "Read: something else")], [page], HERE) == ()


def test_what_was_cut_still_explains() -> None:
    """The marks of a cut are no part of the value."""
    cut = changed("…a cheap pear… (400 characters)", "…a dear pear… (400 characters)")

    assert explain_by_responses([("Buy a cheap pear now", "Buy a dear pear now")], [cut], HERE)


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
        ("310", "350", "3.10 €", "3.50 €", True),  # cents
        ("12345", "12399", "12,345 users", "12,399 users", True),
        ("red", "blue", "3", "4", False),
    ],
)
def test_a_value_explains_only_what_shows_it(
    recorded: str, live: str, expected: str, observed: str, *, explains: bool
) -> None:
    """Both sides of a value must occur, each on its side and as a whole."""
    found = explain_by_responses([(expected, observed)], [changed(recorded, live, sequence=1)], HERE)

    assert bool(found) == explains


def test_no_more_is_named_than_a_person_reads() -> None:
    """If twenty responses changed, only the first few are named."""
    changes = [changed(f"a{number}", f"b{number}") for number in range(20)]

    shown = [(each.what[0].recorded, each.what[0].live) for each in changes]

    assert len(explain_by_responses(shown, changes, HERE)) == MAX_EXPLANATIONS
