"""An exported HAR reads back as the same recording, and other programs can read it."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.exporters.har import export_har, render_har
from eikon_engine.importers.har_network import import_har
from eikon_engine.network.exchange import Exchange, Hop, Moment, Piece, RecordedRequest, RecordedResponse
from eikon_engine.network.keys import request_key
from eikon_engine.network.store import NetworkWriter, read_network
from tests.network.hars import BEGAN

if TYPE_CHECKING:
    from eikon_engine.network.store import NetworkRecording

TEXTS = st.text(max_size=6)
NAMES = st.from_regex(r"\A[A-Za-z-]{1,8}\Z")
VALUES = TEXTS.map(lambda text: re.sub("[\r\n\0]", "", text))
HEADERS = st.lists(st.tuples(NAMES, VALUES), max_size=2).map(tuple)
TYPED = st.sampled_from(
    [(), (("content-type", "text/html; charset=ISO-8859-1"),), (("content-type", "application/json"),)]
)
BODIES = st.none() | st.binary(max_size=8) | TEXTS.map(str.encode)
TIMES = st.floats(min_value=0, max_value=1e6)


@st.composite
def recorded(draw: st.DrawFn, folder: Path) -> NetworkRecording:
    """Write a recording with every kind of exchange."""
    with NetworkWriter(folder) as writer:
        for place in range(draw(st.integers(0, 3))):
            url, body = f"{draw(st.sampled_from(('http', 'file')))}://a/{place}", draw(BODIES)
            headers = draw(TYPED) + draw(HEADERS)
            later = draw(st.lists(st.tuples(TEXTS, st.integers(300, 399)), max_size=2))
            hops = tuple(
                Hop(url=url if not number else f"http://b/{text}", status=status, headers=draw(HEADERS))
                for number, (text, status) in enumerate(later)
            )
            writer.append(
                Exchange(
                    ordinal=place * 2,
                    key=request_key("POST", url, body, dict(headers).get("content-type")),
                    occurrence=place,
                    request=RecordedRequest(
                        method="POST",
                        url=url,
                        headers=headers,
                        body=None if body is None else writer.write_blob(body),
                        resource_type=draw(st.sampled_from(["document", "fetch", ""])),
                        is_navigation=draw(st.booleans()),
                        frame=draw(TEXTS),
                    ),
                    hops=hops,
                    started_ms=draw(TIMES),
                    **draw(endings(writer, url, hops, place)),
                )
            )
    return read_network(folder)


@st.composite
def endings(draw: st.DrawFn, writer: NetworkWriter, url: str, hops: tuple[Hop, ...], place: int) -> dict[str, Any]:
    """Generate a response, a failure or neither."""
    body, missing = draw(BODIES), draw(st.none() | TEXTS)
    response = RecordedResponse(
        url="http://c/" if hops else url,
        status=0 if not hops and url.startswith("file") else draw(st.sampled_from([200, 204, 302, 304, 404])),
        status_text=draw(TEXTS),
        headers=draw(TYPED) + draw(HEADERS),
        body=None if body is None or missing is not None else writer.write_blob(body),
        body_missing=missing,
    )
    done = {"completed_ms": 1e6 + draw(TIMES), "completion": 2 * place}
    moment = Moment(order=2 * place + 1, at_ms=0, phase=1)
    size = response.body.size if response.body is not None else 0
    pieces = (Piece(length=0, moment=moment), Piece(length=size, moment=moment))
    broke_off = {"response": response, "failure": "net::ERR_CONTENT_LENGTH_MISMATCH", "pieces": pieces, **done}
    return draw(
        st.sampled_from(
            [
                {},
                {"response": response},
                {"response": response, **done},
                {"failure": "net::ERR_ABORTED", **done},
                broke_off,
            ]
        )
    )


@given(st.data())
@settings(deadline=None, max_examples=30)
def test_what_is_exported_reads_back_as_it_was(data: st.DataObject) -> None:
    """Redirects, failures, pending requests, lost bodies, order and times survive an export and import."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        recording = data.draw(recorded(folder / "recorded"))
        (folder / "a.har").write_text(render_har(recording, started_at=BEGAN, version="1"))

        imported = import_har(folder / "a.har", folder / "imported")

        assert imported.recording.exchanges == recording.exchanges
        assert imported.warnings == ()
        for exchange in recording.exchanges:
            for ref in exchange.blobs:
                assert imported.recording.body(ref) == recording.body(ref)


def test_an_exported_har_has_one_entry_per_response(tmp_path: Path) -> None:
    """Redirects are separate entries with the method that browsers use; failures have status 0."""
    hops = (Hop(url="http://a/", status=302, headers=(("location", "/b"),)),)
    request = RecordedRequest(method="POST", url="http://a/", resource_type="document", is_navigation=True)
    times: dict[str, Any] = {"started_ms": 5.0, "completed_ms": 25.0}
    with NetworkWriter(tmp_path) as writer:
        response = RecordedResponse(url="http://a/b", status=200, body=writer.write_blob(b"\xff"))
        key = "POST http://a/"
        writer.append(
            Exchange(
                ordinal=0, key=key, occurrence=0, request=request, hops=hops, response=response, completion=0, **times
            )
        )
        writer.append(
            Exchange(
                ordinal=1, key=key, occurrence=1, request=request, failure="net::ERR_FAILED", completion=1, **times
            )
        )

    har: Any = export_har(read_network(tmp_path), started_at=BEGAN, version="1.0")

    entries = har["log"]["entries"]
    exported = [(e["request"]["method"], e["request"]["url"], e["response"]["status"], e["time"]) for e in entries]
    assert har["log"]["version"] == "1.2"
    assert exported == [("POST", "http://a/", 302, 0), ("GET", "http://a/b", 200, 20), ("POST", "http://a/", 0, 20)]
    assert entries[0]["response"]["redirectURL"] == "http://a/b"
    assert entries[0]["startedDateTime"] == "2026-01-02T03:04:05.005+00:00"
    assert entries[1]["response"]["content"] == {"size": 1, "mimeType": "", "text": "/w==", "encoding": "base64"}
    assert entries[2]["response"]["_error"] == "net::ERR_FAILED"
