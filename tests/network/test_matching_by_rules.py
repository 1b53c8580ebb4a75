"""A request that differs from a recorded one only in ignored parts gets its response; exact matches win."""

from __future__ import annotations

from collections import Counter
from time import process_time
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.network.exchange import HeaderPairs
from eikon_engine.network.matching import Hit, Match, Miss, Playback
from eikon_engine.network.store import NetworkWriter, read_network
from eikon_engine.outcome.outcomes import RuleApplied
from eikon_engine.trace.rules import HeaderRule, JsonPathRule, QueryKeyRule
from tests.network.factories import make_exchange

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.network.exchange import Exchange

ITEMS = "http://shop.test/items"
BUSTER = QueryKeyRule(name="_", reason="a cache buster")
SENT_AT = JsonPathRule(path="$.at", reason="a time")
LANGUAGE = HeaderRule(name="Accept-Language", reason="of the machine")
URLS = [f"{ITEMS}?page={page}&_={number}" for page in "12" for number in "123"]


@given(st.lists(st.sampled_from(URLS)), st.lists(st.sampled_from(URLS)))
def test_nothing_is_served_twice_and_exactness_wins(recorded: list[str], requested: list[str]) -> None:
    """Each exchange is served once, and an available exact match is preferred."""
    playback = Playback(_numbered(recorded), rules=(BUSTER,))

    for url in requested:
        waiting = [each for each in playback.unused() if each.request.url == url]
        alike = [each for each in playback.unused() if each.request.url.split("_=")[0] == url.split("_=")[0]]
        match = _get(playback, url)
        if waiting:
            assert match == Hit(exchange=waiting[0])
        elif alike:
            assert match == Hit(exchange=alike[0], rules=(BUSTER,))
        else:
            assert isinstance(match, Miss)
    served = Counter(hit.exchange.ordinal for hit in playback.hits)
    assert all(times == 1 for times in served.values())


@given(st.lists(st.sampled_from(URLS)), st.lists(st.sampled_from(URLS)))
def test_rules_for_other_requests_change_nothing(recorded: list[str], requested: list[str]) -> None:
    """Rules for other requests do not affect matching."""
    elsewhere = QueryKeyRule(url="http://other.test/*", name="_", reason="elsewhere")
    with_rules, without = Playback(_numbered(recorded), rules=(elsewhere,)), Playback(_numbered(recorded))

    for url in requested:
        assert _get(with_rules, url) == _get(without, url)
    assert with_rules.rule_use.unused() == (elsewhere,)


def test_a_hit_by_rule_names_rule_and_recorded_key() -> None:
    """The match names the ignored parts and the key under which the response was recorded."""
    playback = Playback(_numbered([f"{ITEMS}?_=1"]), rules=(BUSTER,))

    match = _get(playback, f"{ITEMS}?_=2")

    assert isinstance(match, Hit)
    assert (match.key, match.rules) == (f"GET {ITEMS}?_=1", (BUSTER,))
    assert playback.rule_use.applied() == ((BUSTER, 1),)
    assert playback.rule_use.to_outcome() == (RuleApplied(rule="query _", reason="a cache buster", times=1),)
    assert playback.rule_use.notes() == ()


def test_what_a_rule_gave_away_is_not_served_exactly() -> None:
    """An exact response already served to another request by a rule is skipped."""
    playback = Playback(_numbered([f"{ITEMS}?_=1", f"{ITEMS}?_=1"]), rules=(BUSTER,))

    matches = [_get(playback, f"{ITEMS}?_={number}") for number in (9, 1, 1)]

    assert [match.exchange.ordinal for match in matches if isinstance(match, Hit)] == [0, 1]
    assert isinstance(matches[2], Miss)
    assert matches[2].reason.startswith("it was recorded 2 times apart from what rules ignore (query _)")


def test_a_repeated_value_gets_the_next_response_of_its_rule() -> None:
    """When a recorded value is requested too often, it gets the next response that matches by the rule."""
    playback = Playback(_numbered([f"{ITEMS}?_=1", f"{ITEMS}?_=2"]), rules=(BUSTER,))

    matches = [_get(playback, f"{ITEMS}?_=1") for _ in range(2)]

    assert [match.exchange.ordinal for match in matches if isinstance(match, Hit)] == [0, 1]


def test_a_rule_that_found_its_part_and_was_not_needed_is_no_waste() -> None:
    """A rule that matched a part is not reported as unused, even if an exact match was served."""
    playback = Playback(_numbered([f"{ITEMS}?_=1"]), rules=(BUSTER, SENT_AT))

    _get(playback, f"{ITEMS}?_=1")

    assert playback.rule_use.applied() == ()
    assert playback.rule_use.unused() == (SENT_AT,)
    assert playback.rule_use.notes() == ("unused rule: body $.at matched no request of this replay. Fix or remove it.",)


def test_a_header_rule_applies_only_without_an_exact_match() -> None:
    """A request prefers responses with its own header value; without one, the header is ignored."""
    german, english = (("accept-language", "de"),), (("accept-language", "en"),)
    exchanges = [
        make_exchange(ITEMS, ordinal=place, occurrence=place, headers=headers)
        for place, headers in enumerate([german, english])
    ]
    playback = Playback(exchanges, rules=(LANGUAGE,))

    exact = _get(playback, ITEMS, english)
    freed = _get(playback, ITEMS, (("Accept-Language", "fr"),))

    assert exact == Hit(exchange=exchanges[1])
    assert freed == Hit(exchange=exchanges[0], rules=(LANGUAGE,))


def test_other_deciding_headers_decide_also_within_a_rule() -> None:
    """A rule for the query still distinguishes responses by their deciding headers."""
    page, data = (("accept", "text/html"),), (("accept", "application/json"),)
    exchanges = [
        make_exchange(f"{ITEMS}?_={place}", ordinal=place, headers=headers)
        for place, headers in enumerate([page, data])
    ]
    playback = Playback(exchanges, rules=(BUSTER,))

    matches = [_get(playback, f"{ITEMS}?_=9", headers) for headers in (data, page, data)]

    assert [match.exchange.ordinal for match in matches if isinstance(match, Hit)] == [1, 0]
    assert isinstance(matches[2], Miss)


def test_a_json_body_is_found_by_rule_also_with_secrets_in_it(tmp_path: Path) -> None:
    """Recorded bodies match by rule in any encoding of the secrets in them."""
    stored, sent = (
        b'{"at":1,"password":"{{eikon-secret:PASSWORD|json}}"}',
        b'{"password":"{{eikon-secret:PASSWORD}}","at":2}',
    )
    headers: HeaderPairs = (("content-type", "application/json"),)
    with NetworkWriter(tmp_path) as writer:
        ref = writer.write_blob(stored)
        writer.append(make_exchange(ITEMS, method="POST", headers=headers, sent=b'{"at":1}', request_body=ref))
    recording = read_network(tmp_path)
    playback = Playback(recording.exchanges, read_body=recording.body, rules=(SENT_AT,))

    match = playback.match("POST", ITEMS, sent, "application/json", headers)

    assert match == Hit(exchange=recording.exchanges[0], rules=(SENT_AT,))


def test_rules_serve_nothing_after_a_gap() -> None:
    """If an exchange of the group is missing from the recording, no later one is served."""
    exchanges = [
        make_exchange(f"{ITEMS}?_={number}", ordinal=ordinal, occurrence=occurrence)
        for ordinal, number, occurrence in [(0, 1, 0), (2, 2, 0), (3, 1, 2)]
    ]
    playback = Playback(exchanges, rules=(BUSTER,))

    matches = [_get(playback, f"{ITEMS}?_=9") for _ in range(2)]

    assert [match.exchange.ordinal for match in matches if isinstance(match, Hit)] == [0]


def test_two_thousand_requests_by_rule_are_quick() -> None:
    """Rules stay fast even if one URL was requested often."""
    playback = Playback(_numbered([f"{ITEMS}?_={number}" for number in range(2_000)]), rules=(BUSTER, LANGUAGE))

    started = process_time()
    matches = [_get(playback, f"{ITEMS}?_={number}") for number in range(10_000, 12_000)]

    assert all(isinstance(match, Hit) for match in matches)
    assert process_time() - started < 3


def _numbered(urls: list[str]) -> list[Exchange]:
    seen: Counter[str] = Counter()
    exchanges = []
    for ordinal, url in enumerate(urls):
        exchanges.append(make_exchange(url, ordinal=ordinal, occurrence=seen[url]))
        seen[url] += 1
    return exchanges


def _get(playback: Playback, url: str, headers: HeaderPairs = ()) -> Match:
    return playback.match("GET", url, None, None, headers)
