"""Rules are learned for values that vary by their nature, as wide as these values, and never against the evidence."""

from __future__ import annotations

import re
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.files.blobs import BlobRef
from eikon_engine.network.drawn_values import value_pattern
from eikon_engine.network.matching import Hit, Match, Miss, Playback
from eikon_engine.network.rule_learner import RuleLearner
from eikon_engine.network.store import NetworkWriter, read_network
from eikon_engine.trace.rules import PathSegmentRule, QueryKeyRule, TelemetryRule
from tests.network.factories import make_exchange

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.network.exchange import Exchange
    from eikon_engine.outcome.outcomes import NetworkMiss

RECORDED_AT_S = 1_763_873_000.0
SHOP = "http://shop.test"
ONE, OTHER, THIRD = "3f2a9c1b77e04d51", "9b1c77fe20aa3c4d", "a04d1b2c3d4e5f60"


@pytest.mark.parametrize(
    ("name", "recorded", "requested", "pattern"),
    [
        ("id", ONE, OTHER, "[0-9a-f]{16}"),
        ("id", "134508856618", "e359645b9dee", "[0-9a-f]{12}"),
        ("", "7c9e6679-7425-40de-944b-e07fc1f90ae7", "16fd2706-8baf-433b-82eb-8c7fada847da", None),
        ("_", "1", "2", "[0-9]{1,20}"),
        ("cb", "17", "18", "[0-9]{1,20}"),
        ("at", "1763873000123", "1763873000456", None),
        ("x", "1763873000123", "1763873000456", "[0-9]{13}"),
        ("x", "k3j9x2p1qz", "9f0w3mzla1", "[0-9a-z]{8,14}"),
        ("x", "req-3f2a9c1b-a", "req-9b1c77fe-a", r"req\\-[0-9a-f]{8}\\-a"),
        ("sentAt", "1", "2", None),
        ("t", "673.5999999977648", "674", None),
        ("x", "0.8273645123", "0.12345678", "0\\\\.[0-9]{6,20}"),
    ],
)
def test_what_is_drawn_has_a_pattern_that_both_values_match(
    name: str, recorded: str, requested: str, pattern: str | None
) -> None:
    """Ids, times, counters of cache-busters: what stays equal within a value is part of its pattern."""
    found = value_pattern(name, recorded, requested, RECORDED_AT_S)

    assert found is not None
    assert re.fullmatch(found, recorded)
    assert re.fullmatch(found, requested)
    assert not re.fullmatch(found, "banana")
    assert pattern is None or found.replace("\\\\", "\\") == pattern.replace("\\\\", "\\")


@pytest.mark.parametrize("length", [11, 21, 22, 43])
def test_the_pattern_of_two_random_ids_matches_every_other(length: int) -> None:
    """Two base64 ids may lack its signs, or have them in the same positions: the next one need not."""
    ids = [urlsafe_b64encode(sha256(bytes(f"{number}", "ascii")).digest()).decode()[:length] for number in range(6000)]

    for one, other, third in zip(ids[::3], ids[1::3], ids[2::3], strict=True):
        found = value_pattern("id", one, other)
        assert found is None or re.fullmatch(found, third), (found, one, other, third)


def test_almost_every_two_random_ids_have_a_pattern() -> None:
    """One of eight ids of this length has no digit; most of those mix upper and lower case like no words."""
    ids = [urlsafe_b64encode(sha256(bytes(f"{number}", "ascii")).digest()).decode()[:12] for number in range(4000)]

    found = [value_pattern("token", one, other) for one, other in zip(ids[::2], ids[1::2], strict=True)]

    assert sum(each is not None for each in found) >= 0.95 * len(found)


@pytest.mark.parametrize(
    ("name", "recorded", "requested"),
    [
        ("view", "showListOfTheItems", "gridOfTheCards"),
        ("view", "showListView", "gridViewCard2"),
        ("price", "310", "320"),
        ("name", "banana", "cherry"),
        ("phone", "5551234567", "5551234568"),
        ("sku", "AB12345678", "AB98765432"),
        ("slug", "product-red-12", "product-blue-12"),
        ("color", "ff0000ff", "00ff00ff"),
        ("color", "112233cc", "44556677"),
        ("number", "100000000001", "10000000000a"),
        ("page", "1", "2"),
        ("at", "tuesday", "friday"),
        ("departs", "1999999999000", "1763873000000"),
        ("id", ONE, "banana"),
        ("_", "1", "banana split"),
        ("t", "12.5", "19.99"),
        ("total", "59.970000000000006", "80"),
    ],
)
def test_what_may_matter_has_none(name: str, recorded: str, requested: str) -> None:
    """Prices, names, numbers of articles and telephones, chosen dates: a rule would hide them."""
    assert value_pattern(name, recorded, requested, RECORDED_AT_S) is None


STATS = "http://stats.test"
TELEMETRY = [
    ("ping", "POST", SHOP, 0),
    ("ping", "POST", STATS, 12),
    ("fetch", "POST", STATS, 0),
    ("xhr", "POST", STATS, 12),
    ("image", "GET", STATS, 43),
]
COMPARED = [
    ("fetch", "GET", STATS, 12),
    ("fetch", "POST", STATS, 900),
    ("image", "GET", STATS, 4_000),
    ("ping", "POST", SHOP, 9),
    ("fetch", "DELETE", STATS, 0),
    ("fetch", "POST", "http://api.shop.test", 0),
    ("fetch", "POST", SHOP, 0),
]


def _report(kind: str, method: str, site: str, size: int) -> tuple[Playback, RuleLearner]:
    """Record a request of the shop with a response of this size."""
    plain = make_exchange(f"{site}/c?event=click&took=812", method=method, headers=(("Referer", f"{SHOP}/cart"),))
    assert plain.response is not None
    body = BlobRef(sha256="0" * 64, size=size) if size else None
    exchange = plain.model_copy(
        update={
            "request": plain.request.model_copy(update={"resource_type": kind}),
            "response": plain.response.model_copy(update={"body": body}),
        }
    )
    learner = RuleLearner(RECORDED_AT_S)
    return Playback((exchange,), learner=learner), learner


@pytest.mark.parametrize(("kind", "method", "site", "size"), TELEMETRY)
def test_a_number_in_telemetry_is_measured(kind: str, method: str, site: str, size: int) -> None:
    """A beacon, or a request to another site that returns a receipt: the rule is for that number."""
    playback, learner = _report(kind, method, site, size)

    found = playback.match(method, f"{site}/c?event=click&took=829.5", None, None, ())

    assert isinstance(found, Hit)
    assert [type(rule) for rule in learner.rules] == [QueryKeyRule]


@pytest.mark.parametrize(("kind", "method", "site", "size"), TELEMETRY)
def test_other_telemetry_is_not_compared(kind: str, method: str, site: str, size: int) -> None:
    """Other events, and more of them, get the recorded response; the rule replaces narrower ones."""
    playback, learner = _report(kind, method, site, size)
    sent = ("event=click&took=829.5", "event=scroll&took=9&depth=40", "event=leave")

    found = [playback.match(method, f"{site}/c?{query}", None, None, ()) for query in sent]

    assert all(isinstance(match, Hit) for match in found)
    (rule,) = learner.rules
    assert isinstance(rule, TelemetryRule)
    assert (rule.method, rule.url) == (method, f"{site}/c")
    assert isinstance(playback.match(method, f"{site}/other", None, None, ()), Miss)


@pytest.mark.parametrize(("kind", "method", "site", "size"), COMPARED)
def test_what_returns_data_or_stays_on_the_site_is_no_telemetry(kind: str, method: str, site: str, size: int) -> None:
    """A page may use what is returned, and its own site may store what it sends."""
    playback, learner = _report(kind, method, site, size)

    found = playback.match(method, f"{site}/c?event=click&took=829.5", None, None, ())

    assert isinstance(found, Miss)
    assert learner.rules == []


@pytest.mark.parametrize(
    "changes",
    [
        {"status": 500},
        {"size": None},
        {"headers": (("Origin", SHOP), ("apikey", "k"))},
        {"headers": (("Origin", "http://localhost:3000"),), "site": "http://127.0.0.1:8000"},
        {"others": ((200, 14),)},
        {"others": ((204, 0),)},
    ],
    ids=["an error", "lost body", "credentials", "development", "another receipt", "another status"],
)
def test_what_an_interface_stores_is_no_telemetry(changes: dict[str, Any]) -> None:
    """A write of an application to its own interface is compared, whatever little it returns."""
    site, size = changes.get("site", STATS), changes.get("size", 0)
    exchanges = []
    for ordinal, (status, length) in enumerate(((changes.get("status", 201), size), *changes.get("others", ()))):
        plain = make_exchange(
            f"{site}/orders?table={ordinal}",
            ordinal=ordinal,
            method="POST",
            headers=changes.get("headers", (("Origin", SHOP),)),
            response_body=BlobRef(sha256="0" * 64, size=length) if length else None,
        )
        assert plain.response is not None
        missing = "gone" if length is None else None
        response = plain.response.model_copy(update={"status": status, "body_missing": missing})
        exchanges.append(plain.model_copy(update={"response": response}))
    learner = RuleLearner(RECORDED_AT_S)
    playback = Playback(exchanges, learner=learner)

    assert isinstance(playback.match("POST", f"{site}/orders?table=12", None, None, ()), Miss)
    assert learner.rules == []


def test_a_beacon_of_a_page_that_unloads_has_no_receipt() -> None:
    """The others to its URL have."""
    kept, farewell = (
        make_exchange(f"{SHOP}/vitals?name={name}", ordinal=place, method="POST")
        for place, name in enumerate(("first", "last"))
    )
    exchanges = [
        each.model_copy(update={"request": each.request.model_copy(update={"resource_type": "ping"})})
        for each in (kept, farewell.model_copy(update={"response": None, "failure": "net::ERR_ABORTED"}))
    ]
    playback = Playback(exchanges, learner=RuleLearner(RECORDED_AT_S))

    assert isinstance(playback.match("POST", f"{SHOP}/vitals?name=other", None, None, ()), Hit)


def test_a_number_in_the_path_of_telemetry_is_compared() -> None:
    """A rule for a segment would hold for everything below it."""
    exchange = make_exchange(f"{STATS}/items/5/like", method="POST", headers=(("Origin", SHOP),))
    learner = RuleLearner(RECORDED_AT_S)

    assert isinstance(
        Playback((exchange,), learner=learner).match("POST", f"{STATS}/items/7/like", None, None, ()), Miss
    )


def test_a_session_in_the_path_is_one_rule_for_everything_below() -> None:
    """The rule holds at its position, for values like its own, and not for others."""
    recorded = [f"{SHOP}/s/{ONE}/cart", f"{SHOP}/s/{ONE}/items?page=1"]
    playback, learner = _learning(recorded)

    found = [_get(playback, f"{SHOP}/s/{OTHER}/{rest}") for rest in ("cart", "items?page=1")]

    assert [match.exchange.request.url for match in found if isinstance(match, Hit)] == recorded
    (rule,) = learner.rules
    assert isinstance(rule, PathSegmentRule)
    assert (rule.url, rule.position, rule.pattern) == (f"{SHOP}/s/*", 1, "[0-9a-f]{16}")
    strict = Playback(_exchanges(recorded), rules=(rule,))
    assert isinstance(_get(strict, f"{SHOP}/s/banana/cart"), Miss)
    assert isinstance(_get(strict, f"{SHOP}/s/{THIRD}/cart"), Hit)


def test_members_and_fields_are_learned_with_their_pattern(tmp_path: Path) -> None:
    """A nonce deep in JSON and a time in a form: each gets a rule of its own, and other values still count."""
    missed: list[NetworkMiss] = []
    learner = RuleLearner(RECORDED_AT_S, missed.append)
    sent = {
        "application/json": (b'{"item":7,"meta":[{"nonce":"%s"}]}', b'{"item":8,"meta":[{"nonce":"%s"}]}'),
        "application/x-www-form-urlencoded": (b"item=7&at=%s", b"item=8&at=%s"),
    }
    values = {
        "application/json": (ONE.encode(), OTHER.encode()),
        "application/x-www-form-urlencoded": (b"2025-03-14T09%3A30%3A00Z", b"2025-03-14T09%3A30%3A01.250Z"),
    }
    with NetworkWriter(tmp_path) as writer:
        for ordinal, (kind, (own, _)) in enumerate(sent.items()):
            body = own % values[kind][0]
            writer.append(
                make_exchange(
                    f"{SHOP}/{ordinal}",
                    ordinal=ordinal,
                    method="POST",
                    headers=(("content-type", kind),),
                    sent=body,
                    request_body=writer.write_blob(body),
                )
            )
    recording = read_network(tmp_path)
    playback = Playback(recording.exchanges, read_body=recording.body, learner=learner)

    for ordinal, (kind, (own, other)) in enumerate(sent.items()):
        headers = (("content-type", kind),)
        changed = playback.match("POST", f"{SHOP}/{ordinal}", other % values[kind][1], kind, headers)
        drawn = playback.match("POST", f"{SHOP}/{ordinal}", own % values[kind][1], kind, headers)
        assert isinstance(changed, Miss)
        assert isinstance(drawn, Hit)
    assert [rule.kind for rule in learner.rules] == ["json_path", "form_field"]
    assert getattr(learner.rules[0], "path", "") == "$.meta[0].nonce"


def test_two_requests_with_different_responses_stay_two() -> None:
    """One of them was requested exactly as recorded, so its id is real: the other id gets no rule, with the reason."""
    missed: list[NetworkMiss] = []
    urls = [f"{SHOP}/items/{ONE}", f"{SHOP}/items/{OTHER}"]
    playback, learner = _learning(urls, missed)

    exact, drawn = _get(playback, urls[0]), _get(playback, f"{SHOP}/items/{THIRD}")

    assert isinstance(exact, Hit)
    assert isinstance(drawn, Miss)
    assert learner.rules == []
    learner.note_miss(drawn.to_network_miss())
    assert "were recorded with different responses" in missed[0].reason


def test_repeated_requests_with_a_cache_buster_are_served_in_their_order() -> None:
    """Their order decides, so one rule serves them one after the other."""
    playback, learner = _learning([f"{SHOP}/state?_={number}" for number in (101, 102, 103)])

    found = [_get(playback, f"{SHOP}/state?_={number}") for number in (201, 202, 203)]

    assert [match.exchange.ordinal for match in found if isinstance(match, Hit)] == [0, 1, 2]
    assert len(learner.rules) == 1


@pytest.mark.parametrize("url", ["/state?_=1&page=2", "/other?_=9", "/state", "/state?_=1&_=2"])
def test_another_request_is_not_learned(url: str) -> None:
    """Other values, paths, and parts that are missing or added make another request."""
    playback, learner = _learning([f"{SHOP}/state?_=1&page=1"])

    assert isinstance(_get(playback, SHOP + url), Miss)
    assert learner.rules == []


def _learning(urls: list[str], missed: list[NetworkMiss] | None = None) -> tuple[Playback, RuleLearner]:
    notes: list[NetworkMiss] = [] if missed is None else missed
    learner = RuleLearner(RECORDED_AT_S, notes.append)
    return Playback(_exchanges(urls), learner=learner), learner


def _exchanges(urls: list[str]) -> list[Exchange]:
    """Make exchanges, each with a response of its own."""
    made = []
    for ordinal, url in enumerate(urls):
        exchange = make_exchange(url, ordinal=ordinal)
        assert exchange.response is not None
        response = exchange.response.model_copy(update={"status": 200 + ordinal})
        made.append(exchange.model_copy(update={"response": response}))
    return made


def _get(playback: Playback, url: str) -> Match:
    return playback.match("GET", url, None, None, ())


def test_sockets_and_their_messages_are_learned_alike() -> None:
    """A session in the URL of a socket and an id in a message get rules of their own; a changed text gets none."""
    learner = RuleLearner(RECORDED_AT_S)
    url, other_url = (f"ws://shop.test/kernel?session={each}" for each in (ONE, OTHER))
    sent = [
        f'{{"header":{{"msg_id":"{each}","date":"2025-03-14T09:30:0{number}Z"}},"code":"1+1"}}'.encode()
        for number, each in enumerate((ONE, OTHER))
    ]

    of_url = learner.learn_socket_url(other_url, [url], ())
    of_message = learner.learn_message(url, sent[0], sent[1], ())
    of_text = learner.learn_message(url, sent[0], sent[0].replace(b"1+1", b"1+2"), ())

    assert [rule.kind for rule in of_url] == ["query_key"]
    assert sorted(getattr(rule, "path", "") for rule in of_message) == ["$.header.date", "$.header.msg_id"]
    assert {rule.method for rule in (*of_url, *of_message)} == {"WEBSOCKET"}
    assert of_text == ()
    assert len(learner.rules) == 3
