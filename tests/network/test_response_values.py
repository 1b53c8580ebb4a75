"""Values that a server draws are found by their places, and stand for the recorded ones one to one."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.network.response_values import pair_values, propose_response_rules
from eikon_engine.network.rule_learner import RuleLearner

URL = "http://shop.test/tickets"
LINK = 'href="/tickets/([0-9a-f]{12})(?=")'
IDS = st.from_regex(r"[0-9a-f]{12}", fullmatch=True).filter(
    lambda each: re.search("[a-f]", each) and re.search("[0-9]", each)
)


def proposed(recorded: str, live: str) -> list[str]:
    """Return the patterns of the rules for two responses."""
    return [rule.pattern for rule in propose_response_rules((URL, URL), recorded, live)]


@pytest.mark.parametrize(
    ("recorded", "live", "pattern"),
    [
        ('<a href="/tickets/2861355d2bf5">', '<a href="/tickets/19c446aac358">', LINK),
        (
            '{"id": "c68472051def", "n": 3}',
            '{"id": "b68472051de1", "n": 3}',
            r'"id":\\ "([0-9a-f]{12})(?=")'.replace("\\\\", "\\"),
        ),
        ("<script src=/a.js?v=1795456933724>", "<script src=/a.js?v=1795456958816>", r"src=/a\.js\?v=([0-9]{13})(?=>)"),
    ],
)
def test_a_drawn_value_gets_a_rule_for_its_place(recorded: str, live: str, pattern: str) -> None:
    """The rule has the attribute or member before the value, and what it is drawn from."""
    assert proposed(recorded, live) == [pattern]


def test_a_rule_holds_no_live_value() -> None:
    """A live value may be a secret of the site, which the recorded one, redacted, is not."""
    (rule,) = propose_response_rules((URL, URL), '{"sid": "c68472051def"}', '{"sid": "b68472051de1"}')

    assert "c68472051def" in rule.reason
    assert "b68472051de1" not in rule.model_dump_json()


@pytest.mark.parametrize(
    ("recorded", "live"),
    [
        ("<b>7.50 EUR</b>", "<b>8.50 EUR</b>"),
        ("<b>Blue mug</b>", "<b>Green mug</b>"),
        ('<a href="/orders/1041">', '<a href="/orders/1042">'),
        ("<p>eikonredacted67F7HoHsOHw2bDUF82R</p>", "<p>uLT6Lr373uYyzXkbiUFiIQ7m0so1B--U</p>"),
    ],
)
def test_what_may_matter_or_is_a_token_gets_none(recorded: str, live: str) -> None:
    """Prices, names and numbers of records are compared; tokens are recognized without a rule."""
    assert proposed(recorded, live) == []


def test_a_rule_for_many_pages_of_a_site_is_one() -> None:
    """The second URL with the same pattern makes the rule one of the site."""
    learner = RuleLearner()
    known = learner.learn_response((URL, URL), "id=2861355d2bf5;", "id=19c446aac358;", ())
    other = "http://shop.test/new"
    known += learner.learn_response((other, other), "id=2861355d2bf5;", "id=19c446aac358;", known)

    assert learner.learn_response((other, other), "id=2861355d2bf5;", "id=19c446aac358;", known) == ()
    assert [rule.url for rule in learner.rules] == ["http://shop.test/*"]


@given(st.lists(st.tuples(IDS, IDS), min_size=1, max_size=6, unique_by=(lambda pair: pair[0], lambda pair: pair[1])))
def test_each_value_stands_for_the_one_in_its_place(pairs: list[tuple[str, str]]) -> None:
    """Ids are paired row by row."""
    recorded = "".join(f'<a href="/tickets/{one}">Row {place}</a>' for place, (one, _) in enumerate(pairs))
    live = "".join(f'<a href="/tickets/{other}">Row {place}</a>' for place, (_, other) in enumerate(pairs))

    assert pair_values(LINK, recorded, live) == {other: one for one, other in pairs if one != other}


def test_a_long_document_of_one_line_takes_no_time() -> None:
    """Long texts are compared place by place; if they have different numbers of words, they teach nothing."""
    row = '<li><a href="/tickets/{}">A ticket about something</a></li>'
    recorded = "".join(row.format(f"{number:08x}ab1c") for number in range(20_000))
    live = recorded.replace("00000007ab1c", "77777777ab1d")

    assert proposed(recorded, live) == [LINK]
    assert proposed(recorded, f"<p>News</p>{live}") == []
    assert proposed(
        recorded.replace("</li>", "</li>\n"), live.replace("</li>", "</li>\n").replace("A t", "2 more t", 1)
    ) == [LINK]
    assert pair_values(LINK, recorded, live) == {"77777777ab1d": "00000007ab1c"}


def test_a_missing_row_shifts_no_other() -> None:
    """Ids are paired by the text before them, so that one row less is the only difference."""
    rows = [("2861355d2bf5", "Chair"), ("aa61355d2b77", "Desk"), ("bb61355d2b78", "Lamp")]
    recorded = "".join(f'{name} <a href="/tickets/{one}">' for one, name in rows)
    live = 'Chair <a href="/tickets/000000000a00">Lamp <a href="/tickets/000000000b00">'

    assert pair_values(LINK, recorded, live) == {"000000000a00": "2861355d2bf5", "000000000b00": "bb61355d2b78"}


def test_a_value_that_would_stand_for_two_stands_for_none() -> None:
    """Two live ids in the places of one recorded id are a change of the site."""
    recorded = '<a href="/tickets/2861355d2bf5"><a href="/tickets/2861355d2bf5">'
    live = '<a href="/tickets/000000000a00"><a href="/tickets/000000000b00">'

    assert pair_values(LINK, recorded, live) == {}
