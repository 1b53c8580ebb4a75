"""Rules hide only what they cover of the targets of redirects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.traffic.response_changes import RequestEnd, ResponseChanges
from eikon_engine.divergence.response_diff import ComparedResponse
from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.exchange import RecordedResponse
from eikon_engine.network.store import NetworkRecording
from eikon_engine.trace.rules import QueryKeyRule
from tests.network.factories import make_exchange

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("site", "recorded", "live", "is_listed"),
    [
        ("http://other/*", "/app#/ok", "/app#/error", True),
        ("http://h/*", "/app#/ok", "/app#/error", True),
        ("http://h/*", "/app?t=1#/ok", "/app?t=2#/error", True),
        ("http://h/*", "/app?t=1#/ok", "/app?t=2#/ok", False),
        ("http://other/*", "/app?t=1", "/app?t=2", True),
        ("http://h/*", "/app", "http://h:80/app", True),  # no rule covers it
    ],
)
def test_a_rule_hides_only_what_it_covers_of_a_redirect(
    tmp_path: Path, site: str, recorded: str, live: str, *, is_listed: bool
) -> None:
    """The fragment, which requests do not have, is where single-page apps keep their place."""
    recording = NetworkRecording(exchanges=(), truncation=None, blobs=BlobStore(tmp_path))
    rule = QueryKeyRule(url=site, name="t", reason="a time")
    url, headers = "http://h/", ((("location", recorded),), (("location", live),))
    exchange = make_exchange().model_copy(
        update={"response": RecordedResponse(url=url, status=302, headers=headers[0])}
    )
    given = RequestEnd(response=ComparedResponse(url=url, status=302, headers=headers[1]))

    found = ResponseChanges(recording, (rule,)).differences(exchange, given)

    assert [each.part for each in found] == (["header location"] if is_listed else [])
