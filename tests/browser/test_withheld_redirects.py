"""A redirect whose response the page may not read is known from what the browser reports."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from eikon_engine.browser.traffic.probe import withheld_redirect_in
from eikon_engine.browser.traffic.response_changes import RequestEnd, ResponseChanges
from eikon_engine.files.blobs import BlobStore
from eikon_engine.network.exchange import RecordedResponse
from eikon_engine.network.store import NetworkRecording
from tests.network.factories import make_exchange

if TYPE_CHECKING:
    from pathlib import Path

MESSAGE = (
    "Access to XMLHttpRequest at 'http://b/login?next=%2F' (redirected from 'http://a/api') from origin 'http://a' has "
    "been blocked by CORS policy: No 'Access-Control-Allow-Origin' header is present on the requested resource."
)


def test_the_console_names_both_ends_of_a_redirect() -> None:
    """It reports other things, too."""
    assert withheld_redirect_in(MESSAGE) == ("http://a/api", "http://b/login?next=%2F")
    direct = "Access to fetch at 'http://b/' from origin 'http://a' has been blocked by CORS"
    assert withheld_redirect_in(direct) is None


def test_a_long_text_is_searched_quickly() -> None:
    """Such a search may take a time that grows with the third power of the length."""
    text = "Access to x" + " at 'a' (redirected from 'b') from origin '" * 250
    begin = time.process_time()

    assert withheld_redirect_in(text) is None
    assert time.process_time() - begin < 1


@pytest.mark.parametrize(
    ("is_withheld", "ending"), [(True, "net::ERR_FAILED (withheld by CORS)"), (False, "net::ERR_FAILED")]
)
def test_a_failure_says_whether_the_browser_withheld_the_response(
    tmp_path: Path, ending: str, *, is_withheld: bool
) -> None:
    """One that was recorded with the same error is no difference."""
    recording = NetworkRecording(exchanges=(), truncation=None, blobs=BlobStore(tmp_path))
    exchange = make_exchange().model_copy(update={"response": RecordedResponse(url="http://a/api", status=200)})
    failed = make_exchange().model_copy(update={"response": None, "failure": "net::ERR_FAILED"})
    end = RequestEnd(response=None, failure="net::ERR_FAILED", redirects=("http://b/login",), is_withheld=is_withheld)
    changes = ResponseChanges(recording)

    assert [(each.part, each.live) for each in changes.differences(exchange, end)] == [
        ("ending", ending),
        ("header location", "http://b/login"),
    ]
    assert changes.differences(failed, end) == ()
