"""The signature of a cause: equal for one cause, whatever mission it stops, and different for two."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eikon_engine.outcome.divergence import Candidate, Divergence, Evidence, PropertyMatch
from eikon_engine.triage.signature import normalize_key, normalize_text, sign
from tests.triage.failures import make_divergence, make_failure

A_UUID = "3f2b8c1e-9d4a-4b7e-8f10-2a6c5d7e9b01"


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("Order 4711 of 2026-01-02 at 10:15", "Order # of {time} at {time}"),
        (f"http://shop.test:8080/cart/{A_UUID}", "/cart/{id}"),
        ("Add to  cart\n", "Add to cart"),
        ("12.50 EUR for 1,204 items", "# EUR for # items"),
        ("session a8f3c2d19b7e", "session {id}"),
        ("h1 and IPv6", "h1 and IPv6"),
    ],
)
def test_ids_times_numbers_and_hosts_are_replaced(text: str, normalized: str) -> None:
    """Words stay."""
    assert normalize_text(text) == normalized


@pytest.mark.parametrize(
    ("key", "normalized"),
    [
        ("GET http://shop.test/api/items/17?page=2&q=tea", "GET /api/items/{id}?page&q"),
        (f"PUT http://other.test/users/{A_UUID} sha256:abc", "PUT /users/{id}"),
        ("GET http://shop.test/", "GET /"),
        ("POST /orders", "POST /orders"),
        ("WEBSOCKET ws://shop.test/news", "WEBSOCKET /news"),
    ],
)
def test_requests_are_told_by_method_path_and_names(key: str, normalized: str) -> None:
    """Neither by the host, nor by values."""
    assert normalize_key(key) == normalized


@given(st.text())
@example("A0-ABG0-0")
def test_normalizing_twice_changes_nothing_more(text: str) -> None:
    """Signatures of earlier triages are compared with later ones."""
    once = normalize_text(text)

    assert normalize_text(once) == once


def answer(key: str, text: str) -> Evidence:
    """Make a changed response."""
    return Evidence(kind="answer", title=key, text=text)


ITEM = answer("GET http://a.test/api/items/1", "body $.items[2].price: recorded 12, live 13")


def test_one_changed_response_is_one_cause_in_any_mission() -> None:
    """On another host, for another product, at another step."""
    other = answer("GET http://b.test:81/api/items/2", "body $.items[0].price: recorded 8.50, live 9")
    first, second = sign(make_failure(ITEM)), sign(make_failure(other, mission="other"))

    assert first.signature == second.signature
    assert first.signature.subject == "GET /api/items/{id}: $.items[*].price"
    assert (first.recorded, first.observed, first.confidence) == ("12", "13", "high")


@pytest.mark.parametrize(
    "other",
    [
        answer("GET http://a.test/api/items/1", "body $.items[2].name: recorded Tea, live Milk"),
        answer("GET http://a.test/api/items/1", "body $.items[2].price: recorded 12, live (absent)"),
        answer("GET http://a.test/api/items/1", "status: recorded 200, live 500"),
        answer("GET http://a.test/api/users/1", "body $.items[2].price: recorded 12, live 13"),
        answer("GET http://a.test/about", "body line 3: recorded <h1>Tea</h1>, live <h1>Shop</h1>"),
    ],
)
def test_another_part_or_request_is_another_cause(other: Evidence) -> None:
    """A value that is gone is no other value."""
    assert sign(make_failure(ITEM)).signature.id != sign(make_failure(other)).signature.id


def test_a_line_of_all_pages_is_one_cause() -> None:
    """As a banner is, which the layout of a site adds to each document."""
    banner = "recorded (absent), live <p>Sale until 12 May</p>"
    pages = [
        make_failure(answer(f"GET http://a.test/{path}", f"body line {line}: {banner}"))
        for path, line in (("", 3), ("cart", 17))
    ]

    assert len({sign(each).signature.id for each in pages}) == 1


def lost(name: str, now: str, *, score: float = 0.8, at: str = "#save") -> Divergence:
    """Make a target that is missing, and its likely successor."""
    match = PropertyMatch(name="name", recorded=name, observed=now, likeness=0.2)
    place = PropertyMatch(name="ancestors", recorded="form", observed="main", likeness=0.2)
    candidate = Candidate(frame="", path="body", description=now, score=score, agreements=(place, match))
    missing = make_divergence("target-missing", "target", f"button {name!r} at {at}", "nothing")
    return missing.model_copy(update={"candidates": (candidate,)})


def test_a_renamed_button_is_one_cause_for_each_locator() -> None:
    """The name that it has now tells it; where it is does not."""
    ours = sign(make_failure(divergence=lost("Save", "Store")))
    theirs = sign(make_failure(divergence=lost("Save", "Store", at="text=Save")))
    other = sign(make_failure(divergence=lost("Send", "Store")))

    assert ours.signature == theirs.signature
    assert ours.signature.change == "name 'Save' -> 'Store'"
    assert ours.signature.id != other.signature.id
    assert ours.confidence == "high"
    assert sign(make_failure(divergence=lost("Save", "Store", score=0.3))).confidence == "medium"


def test_a_document_that_fails_is_one_cause_whether_or_not_a_redirect_led_to_it() -> None:
    """What failed is the last response, not the request that was redirected to it."""
    chain = "http://a.test/new (302) -> http://a.test/x/8 ({})".format
    redirected = make_divergence("status-changed", "lifecycle", chain(200), chain(500))
    sent = answer("POST http://a.test/new", "status: recorded 200, live 500")
    loaded = answer("GET http://a.test/x/7", "status: recorded 200, live 500")

    signature = sign(make_failure(sent, divergence=redirected)).signature

    assert signature == sign(make_failure(loaded)).signature
    assert (signature.subject, signature.change) == ("GET /x/{id}", "status 500")


DIFFERENCES = {
    ("GET /x/{id}", "status 503"): (
        "status-changed",
        "lifecycle",
        "http://a.test/x/7 (200)",
        "http://a.test/x/7 (503)",
    ),
    ("GET /a.js", "404"): (
        "resource-failed",
        "network",
        "GET http://a.test/a.js with 200",
        "GET http://a.test/a.js with 404",
    ),
    ("POST /orders", "request-missing"): ("request-missing", "network", "POST http://a.test/orders", "no such request"),
    ("title-changed", "'Inbox (#)' with another number"): ("title-changed", "dom", "Inbox (3)", "Inbox (5)"),
}


@pytest.mark.parametrize("expected", DIFFERENCES)
def test_each_kind_of_difference_has_a_subject(expected: tuple[str, str]) -> None:
    """Without a changed response or a lost target."""
    signature = sign(make_failure(divergence=make_divergence(*DIFFERENCES[expected]))).signature

    assert (signature.subject, signature.change) == expected


def test_a_change_of_a_page_is_told_by_its_place_and_texts() -> None:
    """Positions among siblings differ from page to page."""
    message = "The DOM of page 0 differs in 2 places: text at html > body > div:nth(3) > main > p#total and 1 more."
    found = make_divergence("dom-changed", "dom", "Total: 5 items", "Sum: 5 items", message)

    signature = sign(make_failure(divergence=found)).signature

    assert signature.subject == "text main > p#total"
    assert signature.change == "'Total: # items' -> 'Sum: # items'"


def test_a_replay_without_a_divergence_is_told_by_its_reason() -> None:
    """It is unverifiable."""
    unverifiable = make_failure().model_copy(
        update={"subgoals": (), "explanation": None, "verdict": "unverifiable", "reasons": ("no certificate for 12",)}
    )

    signature = sign(unverifiable).signature

    assert (signature.kind, signature.subject, signature.change) == ("run", "no certificate for #", "unverifiable")
