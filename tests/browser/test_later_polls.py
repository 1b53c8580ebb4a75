"""What the response to a later poll than the recorded ones may have changed in the page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.traffic.response_changes import RequestEnd, ResponseChanges
from eikon_engine.divergence.response_diff import ComparedResponse
from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.exchange import RecordedResponse
from eikon_engine.network.store import NetworkRecording
from tests.network.factories import make_exchange

if TYPE_CHECKING:
    from pathlib import Path

URL, HEADERS = "http://shop.test/tick", (("content-type", "application/json"),)


def later(folder: Path, recorded: tuple[object, ...], live: object) -> tuple[list[str], set[tuple[str, str]]]:
    """Return the parts that are changes of the site, and the later texts, of a poll after the recorded responses."""
    blobs = BlobStore(folder)
    series = []
    for ordinal, each in enumerate(recorded):
        body = blobs.put(json.dumps(each).encode())
        response = RecordedResponse(url=URL, status=200, headers=HEADERS, body=body)
        series.append(make_exchange(URL, ordinal=ordinal, method="POST").model_copy(update={"response": response}))
    changes = ResponseChanges(NetworkRecording(exchanges=tuple(series), truncation=None, blobs=blobs))
    sent = ComparedResponse(url=URL, status=200, headers=HEADERS, body=json.dumps(live).encode())
    end = RequestEnd(response=sent)
    others, texts = changes.without_later(series, changes.differences(series[-1], end))
    return [each.part for each in others], set(texts)


def test_the_texts_of_a_later_poll_are_those_that_varied(tmp_path: Path) -> None:
    """What all recorded polls had in common is a change of the site."""
    recorded = ({"text": "Step one", "label": "Buy now"}, {"text": "Step two", "label": "Buy now"})

    found = later(tmp_path, recorded, {"text": "Step three", "label": "Order now"})

    assert found == (["body $.label"], {("Step two", "Step three")})


@pytest.mark.parametrize(
    ("first", "last", "live"),
    [
        (True, False, True),
        (None, "running", None),
        (999, 0, 1000),
        (1000.5, 2000.5, 3000.5),
        ("1,000", "2,000", "3,000"),
        ("a", "", "warning"),
        ("on", "off", "warning"),
        ("warning", "error", "ok"),
    ],
)
def test_short_texts_and_literals_of_a_later_poll_are_compared(
    tmp_path: Path, first: object, last: object, live: object
) -> None:
    """Any other part of a page may have them, such as `aria-disabled="true"`."""
    assert later(tmp_path, ({"value": first}, {"value": last}), {"value": live}) == ([], set())


def test_a_text_that_is_new_or_gone_in_a_later_poll_is_compared(tmp_path: Path) -> None:
    """No page shows `(absent)`."""
    assert later(tmp_path, ({}, {"a": "first text"}), {"b": "other text"}) == (["body $.b"], set())


def test_only_numbers_may_vary_after_a_single_recorded_poll(tmp_path: Path) -> None:
    """Nothing shows what else does."""
    recorded = {"text": "Updated 9 times", "label": "Buy now"}

    found = later(tmp_path, (recorded,), {"text": "Updated 10 times", "label": "Order now"})

    assert found == (["body $.label"], {("Updated 9 times", "Updated 10 times")})
