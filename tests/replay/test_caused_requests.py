"""Which requests an action caused, and which of them a replay has not sent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.keys import request_key
from eikon_engine.network.store import NetworkRecording
from eikon_engine.outcome.outcomes import NetworkMiss, RequestDifference
from eikon_engine.replay.caused_requests import Address, CausedRequests, SentRequest, site_of
from eikon_engine.trace.actions import Click, Fill, Navigate
from eikon_engine.trace.execution import ActionTrace, Succeeded
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.rules import JsonPathRule
from eikon_engine.trace.target import Target
from tests.network.factories import make_exchange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from eikon_engine.network.exchange import Exchange

SITE = "http://shop.test"
JSON = (("content-type", "application/json"),)
STEPS = (
    ActionTrace(id="1", sequence=1, action=Navigate(url=SITE), result=Succeeded(), observation=Observation(pages=())),
    *(
        ActionTrace(
            id=str(number),
            sequence=number,
            action=Click(target=Target(selector="#go")),
            result=Succeeded(),
            observation=Observation(pages=(), begun_ms=begun_ms),
        )
        for number, begun_ms in ((2, 10_000), (3, 20_000))
    ),
)


class Recorded:
    """A recording of three steps, at 0, 10 and 20 seconds."""

    def __init__(self, folder: Path) -> None:
        """Load the page."""
        self.blobs = BlobStore(folder)
        page = make_exchange(f"{SITE}/")
        self.exchanges = [
            page.model_copy(
                update={"request": page.request.model_copy(update={"is_navigation": True, "resource_type": "document"})}
            )
        ]

    def add(
        self, at_ms: float, url: str, body: object = None, *, method: str = "POST", response: bytes | None = None
    ) -> str:
        """Add a request with a JSON body, and return its key."""
        sent = None if body is None else json.dumps(body).encode()
        made = make_exchange(
            url,
            ordinal=len(self.exchanges),
            method=method,
            headers=JSON,
            sent=sent,
            request_body=None if sent is None else self.blobs.put(sent),
            response_body=None if response is None else self.blobs.put(response),
        )
        times = {"started_ms": at_ms, "completed_ms": at_ms + 50}
        self.exchanges.append(made.model_copy(update=times))
        return made.key

    def caused(self, *rules: JsonPathRule, steps: Sequence[ActionTrace]) -> CausedRequests:
        """Return what the actions caused."""
        exchanges: tuple[Exchange, ...] = tuple(sorted(self.exchanges, key=lambda each: each.started_ms))
        recording = NetworkRecording(exchanges=exchanges, truncation=None, blobs=self.blobs)
        return CausedRequests(recording, steps, rules)

    def missing(
        self,
        sent: Iterable[tuple[int, str]],
        *rules: JsonPathRule,
        now_ms: float = 60_000,
        changed: Iterable[NetworkMiss] = (),
        steps: Sequence[ActionTrace] = STEPS,
    ) -> list[str]:
        """Return the keys of what a replay has not sent that has sent the page and these, each in its step from 0."""
        caused = self.caused(*rules, steps=steps)
        every = [SentRequest(0, self.exchanges[0].key), *(SentRequest(*each) for each in sent)]
        return [each.key for each in caused.find_missing(caused.due(2, now_ms), every, changed)]


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    """Record a page."""
    return Recorded(tmp_path)


def key_of(url: str, body: object) -> str:
    """Return the key of a request with a JSON body."""
    return request_key("POST", url, json.dumps(body).encode(), "application/json")


GRAPHQL = f"{SITE}/graphql"
ITEMS = {"operationName": "items", "query": "query items { items }"}
ORDER = {"operationName": "order", "query": "mutation order { order }"}


def test_another_operation_at_the_same_address_is_not_the_missing_one(recorded: Recorded) -> None:
    """A query is sent again, in the step of the order and later."""
    items = recorded.add(100, GRAPHQL, ITEMS)
    order = recorded.add(10_100, GRAPHQL, ORDER)

    assert recorded.missing([(0, items), (1, items), (2, items)]) == [order]
    assert recorded.missing([(0, items), (1, order)]) == []
    assert recorded.missing([(0, items), (2, order)]) == []


def changed(key: str, nearest: str, *differences: tuple[str, str, str]) -> NetworkMiss:
    """Return that a request was sent with other values."""
    found = tuple(RequestDifference(part="body", name=name, recorded=one, sent=two) for name, one, two in differences)
    return NetworkMiss(key=key, reason="it was not recorded", nearest=nearest, differences=found)


def test_a_request_with_other_values_is_the_recorded_one_if_its_operation_is(recorded: Recorded) -> None:
    """Each request has an id of its own; the nearest recorded request may be another one of the operation, or not."""
    items = recorded.add(100, GRAPHQL, {**ITEMS, "id": "a1"})
    orders = [recorded.add(at_ms, GRAPHQL, {**ORDER, "id": f"b{at_ms}"}) for at_ms in (10_100, 20_100)]
    news = [key_of(GRAPHQL, {**ITEMS, "id": "c1"}), *(key_of(GRAPHQL, {**ORDER, "id": name}) for name in "xy")]
    query = changed(news[0], items, ("$.id", '"a1"', '"c1"'))
    first, second = (changed(key, orders[0], ("$.id", '"b10100"', '"x"')) for key in news[1:])
    far = changed(news[2], items, ("$.id", '"a1"', '"y"'), ("$.operationName", '"items"', '"order"'))

    assert recorded.missing(enumerate(news), changed=(query, first, second)) == []
    assert recorded.missing(enumerate(news), changed=(query, first, far)) == []
    assert recorded.missing([(0, news[0]), (1, news[1])], changed=(query, first)) == [orders[1]]
    assert recorded.missing([(0, news[0]), (1, items), (2, news[0])], changed=(query,)) == orders


def test_requests_that_rules_make_equal_are_one(recorded: Recorded) -> None:
    """They may match in another order."""
    rule = JsonPathRule(path="$.at", url=f"{SITE}/log", method="POST", reason="a time")
    keys = [recorded.add(at_ms, f"{SITE}/log", {"at": at_ms}) for at_ms in (100, 10_100, 20_100)]

    assert recorded.missing([(0, keys[0]), (1, keys[2]), (2, keys[1])], rule) == []
    assert recorded.missing([(0, keys[0]), (2, keys[1])], rule) == [keys[1]]


def test_each_recorded_request_needs_one_of_its_own(recorded: Recorded) -> None:
    """The recording has two in one step; one that was sent before counts, too, but only once."""
    save = recorded.add(10_100, f"{SITE}/save", {"n": 1})
    recorded.add(10_300, f"{SITE}/save", {"n": 1})

    assert recorded.missing([(1, save)]) == [save]
    assert recorded.missing([(1, save), (1, save)]) == []
    assert recorded.missing([(0, save), (1, save)]) == []
    assert recorded.missing([(1, save)], now_ms=10_450) == []  # it may be a timer's, which began later


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_save_that_another_one_followed_is_not_required(recorded: Recorded, method: str) -> None:
    """A page saves when nothing was typed for a while; the last save is required, and all that a click sends."""
    first, last = (recorded.add(at_ms, f"{SITE}/save", {"text": at_ms}, method=method) for at_ms in (10_100, 10_600))
    fill = STEPS[1].model_copy(update={"action": Fill(target=Target(selector="#text"), text="Hello")})

    assert recorded.missing([(1, last)], steps=(STEPS[0], fill, STEPS[2])) == []
    assert recorded.missing([], steps=(STEPS[0], fill, STEPS[2])) == [last]
    assert recorded.missing([(1, last)]) == ([first] if method == "POST" else [])


@pytest.mark.parametrize(
    ("recorded_url", "sent_url", "step", "is_missing"),
    [
        ("/order", "/collect/8f2c1d", 1, True),
        ("/orders/17/items", "/orders/18/items", 1, False),
        ("/orders/8f2c1d", "/orders/91ab77", 1, False),
        ("/orders/8f2c1d", "/orders/91ab77", 2, True),
        ("/orders/17", "/carts/18", 1, True),
    ],
)
def test_only_an_address_with_another_id_replaces_one(
    recorded: Recorded, recorded_url: str, sent_url: str, step: int, *, is_missing: bool
) -> None:
    """It is sent by the same step."""
    key = recorded.add(10_100, f"{SITE}{recorded_url}", {"n": 1})
    sent = key_of(f"{SITE}{sent_url}", {"n": 1})

    assert recorded.missing([(step, sent)]) == ([key] if is_missing else [])


def test_a_replaced_request_is_replaced_once(recorded: Recorded) -> None:
    """Of two orders, one is missing."""
    keys = [recorded.add(10_100 + at_ms, f"{SITE}/orders/{at_ms}", {"n": 1}) for at_ms in (10, 20)]

    assert recorded.missing([(1, key_of(f"{SITE}/orders/30", {"n": 1}))]) == keys[1:]


def test_a_request_to_another_site_is_required_if_the_page_went_on_with_its_response(recorded: Recorded) -> None:
    """Analytics are not, which differ from visit to visit."""
    recorded.add(10_100, "https://stats.test/collect", {"event": "click"}, response=b'{"status":1}')
    payment = recorded.add(20_100, "https://pay.test/charge", {"card": 1}, response=b'{"id":1}')
    order = recorded.add(20_160, f"{SITE}/order", {"n": 1})

    assert recorded.missing([]) == [payment, order]


@pytest.mark.parametrize(
    ("url", "site"),
    [
        ("https://www.shop.co.uk/x", "shop.co.uk"),
        ("https://api.shop.com.au", "shop.com.au"),
        ("https://ada.github.io", "ada.github.io"),
        ("https://www.shop.example.com", "example.com"),
        ("https://shop.de", "shop.de"),
        ("https://co.uk", "co.uk"),
        ("http://127.0.0.1:8000", "127.0.0.1"),
        ("http://[::1]:8000", "::1"),
        ("http://localhost:8000", "localhost"),
    ],
)
def test_a_site_is_the_domain_that_is_registered(url: str, site: str) -> None:
    """Below some suffixes, that has three labels."""
    assert site_of(url) == site


def test_ids_and_numbers_in_a_path_have_one_shape() -> None:
    """Each segment is judged by itself; the host and words are kept."""
    assert Address.of(f"GET {SITE}/orders/17/parts/a1b2c3d4?x=1").shape == Address("GET", f"{SITE}/orders/#/parts/#")
