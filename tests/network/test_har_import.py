"""HAR files of other programs are imported as far as possible."""

from __future__ import annotations

import base64
import json
import zipfile
from pathlib import Path
from typing import Any

from eikon_engine.importers.har_network import import_har
from eikon_engine.network.keys import request_key
from eikon_engine.secrets.redaction import Redactor
from tests.network.hars import bodies, entry, imported


def test_entries_are_ordered_by_start_and_end(tmp_path: Path) -> None:
    """Requests are numbered by their start, answers by their completion."""
    slow, quick = entry("http://a/slow", at=1, time=9_000), entry("http://a/quick", at=2)

    har = imported(tmp_path, quick, slow)

    rows = [(e.request.url, e.ordinal, e.completion, e.started_ms, e.completed_ms) for e in har.recording.exchanges]
    assert rows == [("http://a/slow", 0, 1, 0.0, 9_000.0), ("http://a/quick", 1, 0, 1_000.0, 1_100.0)]
    assert har.recording.exchanges[0].request.headers == ()


def test_redirects_are_joined_into_one_exchange(tmp_path: Path) -> None:
    """The request of a redirect's target is not a separate exchange; each entry is used once."""
    first = entry("http://a/1", 302, response__redirectURL="/2#top")
    second = entry("http://a/2", 301, 1, response__headers=[{"name": "Location", "value": "http://a/3"}])
    third = entry("http://a/3", at=2, response__content={"size": 2, "text": "ok"})

    har = imported(tmp_path, first, second, third, entry("http://a/3", at=3))

    chain, alone = har.recording.exchanges
    assert [(hop.url, hop.status) for hop in chain.hops] == [("http://a/1", 302), ("http://a/2", 301)]
    assert chain.key == "GET http://a/1"
    assert chain.completed_ms == 2_100
    assert (alone.key, alone.occurrence, alone.hops) == ("GET http://a/3", 0, ())


def test_a_redirect_to_nowhere_is_not_answered(tmp_path: Path) -> None:
    """A redirect whose target has no entry is not served to the browser."""
    har = imported(tmp_path, entry("http://a/1", 302, response__redirectURL="http://b/"))

    response = har.recording.exchanges[0].response
    assert response is not None
    assert response.body_missing == "the HAR has no entry for the redirect target http://b/"
    assert "log.entries[0] (GET http://a/1)" in har.warnings[0]


def test_bodies_are_imported_as_bytes(tmp_path: Path) -> None:
    """Text is encoded by its type, base64 decoded, attached files read; missing bodies are reported."""
    latin = {"size": 1, "mimeType": "text/html; charset=iso-8859-1", "text": "\xe9"}
    (tmp_path / "f00.png").write_bytes(b"png")
    contents = [
        {"size": 2, "text": "\xe9"},
        latin,
        {"size": 3, "text": base64.b64encode(b"\0\1\2").decode(), "encoding": "base64"},
        {"size": 3, "_file": "f00.png"},
        {"size": 3, "_file": "gone.png"},
        {"size": 7},
        {"size": 0, "text": ""},
        {"size": 2, "text": "a\udcff"},
        {"size": 2, "text": "a\ud83d"},
    ]

    har = imported(tmp_path, *[entry(f"http://a/{at}", at=at, response__content=c) for at, c in enumerate(contents)])

    answers = [each.response for each in har.recording.exchanges]
    assert bodies(har) == ["\xe9".encode(), b"\xe9", b"\0\1\2", b"png", None, None, b"", b"a\xff", b"a?"]
    assert [answer.body_missing for answer in answers if answer and answer.body_missing] == [
        "the attached file gone.png is missing",
        "the HAR does not contain the body; it may have been exported without",
    ]
    assert len(har.warnings) == 2


def test_failures_and_unanswered_requests_are_distinguished(tmp_path: Path) -> None:
    """Chrome's and Playwright's failure texts are replayed; a request without one stays unanswered."""
    har = imported(
        tmp_path,
        entry(status=0, response___error="net::ERR_ABORTED"),
        entry(status=-1, response___failureText="net::ERR_FAILED", time=-1),
        entry(status=-1),
    )

    assert [each.failure for each in har.recording.exchanges] == ["net::ERR_ABORTED", "net::ERR_FAILED", None]
    assert [each.is_pending for each in har.recording.exchanges] == [False, False, True]


def test_a_download_is_imported_as_an_empty_response(tmp_path: Path) -> None:
    """A HAR has no download content: the download starts, is empty, and is reported."""
    attached = [{"name": "Content-Disposition", "value": "attachment; filename=a.txt"}]
    ended: dict[str, Any] = {"response__content": {"size": -1}, "response___failureText": "net::ERR_ABORTED"}

    har = imported(tmp_path, entry("http://a/1", response__headers=attached, **ended), entry("http://a/2", **ended))

    assert [each.failure for each in har.recording.exchanges] == [None, "net::ERR_ABORTED"]
    assert bodies(har)[:1] == [b""]
    assert "its download is not in the HAR" in har.warnings[0]


def test_keys_include_request_bodies(tmp_path: Path) -> None:
    """A body matches the key of the browser's request, even if the HAR contains only its parameters."""
    form, json_type = "application/x-www-form-urlencoded", "application/json"
    posts = [
        {"mimeType": json_type, "text": '{"b": 1, "a": 2}'},
        {"mimeType": form, "params": [{"name": "q", "value": "a b"}]},
        {"mimeType": "multipart/form-data; boundary=x", "params": [{"name": "file", "fileName": "a.png"}]},
    ]

    har = imported(tmp_path, *[entry(request__method="POST", request__postData=post) for post in posts])

    assert [each.key for each in har.recording.exchanges] == [
        request_key("POST", "http://a/", b'{"a":2,"b":1}', json_type),
        request_key("POST", "http://a/", b"q=a+b", form),
        "POST http://a/",
    ]
    assert "the HAR does not contain the body of the request" in har.warnings[0]


def test_sockets_are_named_and_omitted(tmp_path: Path) -> None:
    """WebSocket messages and entries that never used the network are not exchanges."""
    har = imported(
        tmp_path,
        entry("wss://a/live", 101, _webSocketMessages=[{"type": "send", "data": "x"}]),
        entry("data:text/plain,x"),
        entry(_resourceType="preflight"),
    )

    assert har.recording.exchanges == ()
    assert har.warnings == (
        f"{tmp_path / 'a.har'}: log.entries[0] is the WebSocket wss://a/live; its messages are not imported",
    )


def test_secrets_do_not_enter_the_recording(tmp_path: Path) -> None:
    """Known secrets of a foreign HAR are replaced by placeholders, and keys still match."""
    post = {"mimeType": "application/json", "text": '{"p": "s3cret"}'}
    har = imported(
        tmp_path,
        entry("http://a/?p=s3cret", request__postData=post, response__content={"size": 6, "text": "s3cret"}),
        redactor=Redactor({"PASSWORD": "s3cret"}),
    )

    exchange = har.recording.exchanges[0]
    mark = "{{eikon-secret:PASSWORD}}"
    assert exchange.request.url == f"http://a/?p={mark}"
    assert exchange.key == request_key("GET", f"http://a/?p={mark}", f'{{"p":"{mark}"}}'.encode(), "application/json")
    assert bodies(har) == [mark.encode()]


def test_request_types_are_derived_from_headers(tmp_path: Path) -> None:
    """If the HAR has no resource type, the request's headers decide."""
    headers = [
        [{"name": "Sec-Fetch-Dest", "value": "iframe"}, {"name": "Sec-Fetch-Mode", "value": "navigate"}],
        [{"name": "Sec-Fetch-Dest", "value": "style"}],
        [{"name": "Accept", "value": "text/html,*/*"}],
        [],
    ]

    har = imported(tmp_path, *[entry(request__headers=each) for each in headers])

    kinds = [(each.request.resource_type, each.request.is_navigation) for each in har.recording.exchanges]
    assert kinds == [("document", True), ("stylesheet", False), ("document", True), ("other", False)]


def test_an_archive_contains_har_and_bodies(tmp_path: Path) -> None:
    """A zip written by Playwright is read without unpacking."""
    har = {"log": {"entries": [entry(response__content={"size": 2, "_file": "resources/x.html"})]}}
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("har.har", json.dumps(har))
        archive.writestr("resources/x.html", "hi")

    assert bodies(import_har(tmp_path / "a.zip", tmp_path / "network")) == [b"hi"]
