"""A HAR that we export reads back as the same recording, and those of other programs as far as they go."""

from __future__ import annotations

import base64
import json
import re
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.errors import BundlePathError, TraceError, TraceFieldError, TraceMissingError, TraceSyntaxError
from eikon_engine.network.exchange import Exchange, Hop, Piece, RecordedRequest, RecordedResponse
from eikon_engine.network.har_export import export_har, har_text
from eikon_engine.network.har_file import open_har
from eikon_engine.network.har_import import HarImport, import_har
from eikon_engine.network.keys import request_key
from eikon_engine.network.moment import Moment
from eikon_engine.network.store import NetworkWriter, read_network
from eikon_engine.trace.redaction import Redactor
from tests.unit.network.factories import make_exchange

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.network.store import NetworkRecording

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
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
    """Write a recording with any kind of exchange in it."""
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
    """Draw an answer, a failure or neither."""
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
    """Redirects, failures, pending requests, lost bodies, order and times survive the way through a HAR."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        recording = data.draw(recorded(folder / "recorded"))
        (folder / "a.har").write_text(har_text(recording, began=BEGAN, version="1"))

        imported = import_har(folder / "a.har", folder / "imported")

        assert imported.recording.exchanges == recording.exchanges
        assert imported.warnings == ()
        for exchange in recording.exchanges:
            for ref in exchange.blobs:
                assert imported.recording.body(ref) == recording.body(ref)


def test_an_export_is_a_har_of_one_entry_for_each_answer(tmp_path: Path) -> None:
    """Redirects are entries of their own, whose method changes as browsers change it; failures have status 0."""
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

    har: Any = export_har(read_network(tmp_path), began=BEGAN, version="1.0")

    entries = har["log"]["entries"]
    told = [(e["request"]["method"], e["request"]["url"], e["response"]["status"], e["time"]) for e in entries]
    assert har["log"]["version"] == "1.2"
    assert told == [("POST", "http://a/", 302, 0), ("GET", "http://a/b", 200, 20), ("POST", "http://a/", 0, 20)]
    assert entries[0]["response"]["redirectURL"] == "http://a/b"
    assert entries[0]["startedDateTime"] == "2026-01-02T03:04:05.005+00:00"
    assert entries[1]["response"]["content"] == {"size": 1, "mimeType": "", "text": "/w==", "encoding": "base64"}
    assert entries[2]["response"]["_error"] == "net::ERR_FAILED"


def entry(url: str = "http://a/", status: int = 200, at: int = 0, **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    """Write an entry as other programs do; `request__…` and `response__…` add to its parts."""
    parts: dict[str, dict[str, Any]] = {
        "request": {"method": "GET", "url": url, "headers": [{"name": ":method", "value": "GET"}]},
        "response": {"status": status, "statusText": "", "headers": [], "redirectURL": "", "content": {"size": 0}},
    }
    plain: dict[str, Any] = {"startedDateTime": f"2026-01-02T03:04:{at:02}.5Z", "time": 100, **parts}
    for name, value in fields.items():
        part, _, field = name.partition("__")
        if field:
            parts[part][field] = value
        else:
            plain[name] = value
    return plain


def imported(folder: Path, *entries: dict[str, Any], redactor: Redactor | None = None) -> HarImport:
    """Import a HAR of these entries."""
    (folder / "a.har").write_text(json.dumps({"log": {"version": "1.2", "entries": entries}}), encoding="utf-8-sig")
    return import_har(folder / "a.har", folder / "network", redactor)


def bodies(har: HarImport) -> list[bytes | None]:
    """Read the bodies of the answers."""
    refs = [each.response.body if each.response else None for each in har.recording.exchanges]
    return [har.recording.body(ref) if ref is not None else None for ref in refs]


def test_entries_are_ordered_by_start_and_end(tmp_path: Path) -> None:
    """Requests are counted as they began, answers as they were complete."""
    slow, quick = entry("http://a/slow", at=1, time=9_000), entry("http://a/quick", at=2)

    har = imported(tmp_path, quick, slow)

    told = [(e.request.url, e.ordinal, e.completion, e.started_ms, e.completed_ms) for e in har.recording.exchanges]
    assert told == [("http://a/slow", 0, 1, 0.0, 9_000.0), ("http://a/quick", 1, 0, 1_000.0, 1_100.0)]
    assert har.recording.exchanges[0].request.headers == ()


def test_redirects_are_put_together(tmp_path: Path) -> None:
    """What a redirect led to is no request of its own; each is used once."""
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
    """Where the target has no entry the browser must not be sent there."""
    har = imported(tmp_path, entry("http://a/1", 302, response__redirectURL="http://b/"))

    response = har.recording.exchanges[0].response
    assert response is not None
    assert response.body_missing == "the HAR has no entry for where it leads, http://b/"
    assert "log.entries[0] (GET http://a/1)" in har.warnings[0]


def test_bodies_come_back_as_bytes(tmp_path: Path) -> None:
    """Text is encoded as its type says, base64 decoded, attached files read; what is not there is told."""
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
        "the HAR names the file gone.png, which is not there",
        "the HAR holds no body, perhaps it was exported without content",
    ]
    assert len(har.warnings) == 2


def test_failures_and_unanswered_requests_are_kept_apart(tmp_path: Path) -> None:
    """Chrome's and Playwright's words for a failure are replayed; a request without either stays unanswered."""
    har = imported(
        tmp_path,
        entry(status=0, response___error="net::ERR_ABORTED"),
        entry(status=-1, response___failureText="net::ERR_FAILED", time=-1),
        entry(status=-1),
    )

    assert [each.failure for each in har.recording.exchanges] == ["net::ERR_ABORTED", "net::ERR_FAILED", None]
    assert [each.pending for each in har.recording.exchanges] == [False, False, True]


def test_request_bodies_make_keys(tmp_path: Path) -> None:
    """A body is found under the key that the browser's request has, also where the HAR holds parameters only."""
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
    assert "the HAR holds no text of the request's body" in har.warnings[0]


def test_sockets_are_named_and_left_out(tmp_path: Path) -> None:
    """The messages of a WebSocket are no exchanges; neither is what never was on the network."""
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
    """A foreign HAR holds real values; placeholders are written for those that are known, and keys fit."""
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


def test_kinds_of_requests_are_told_by_their_headers(tmp_path: Path) -> None:
    """Where no program said what a request was for, the request's own headers do."""
    headers = [
        [{"name": "Sec-Fetch-Dest", "value": "iframe"}, {"name": "Sec-Fetch-Mode", "value": "navigate"}],
        [{"name": "Sec-Fetch-Dest", "value": "style"}],
        [{"name": "Accept", "value": "text/html,*/*"}],
        [],
    ]

    har = imported(tmp_path, *[entry(request__headers=each) for each in headers])

    kinds = [(each.request.resource_type, each.request.is_navigation) for each in har.recording.exchanges]
    assert kinds == [("document", True), ("stylesheet", False), ("document", True), ("other", False)]


def test_an_archive_holds_har_and_bodies(tmp_path: Path) -> None:
    """A zip as Playwright writes it is read without unpacking."""
    har = {"log": {"entries": [entry(response__content={"size": 2, "_file": "resources/x.html"})]}}
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("har.har", json.dumps(har))
        archive.writestr("resources/x.html", "hi")

    assert bodies(import_har(tmp_path / "a.zip", tmp_path / "network")) == [b"hi"]


BROKEN: dict[str, tuple[bytes | dict[str, Any], type[TraceError], str]] = {
    "cut off": (b'{"log": {', TraceSyntaxError, "wanted a whole JSON text"),
    "not text": (b"\xff\xfe\0", TraceSyntaxError, "wanted a whole JSON text"),
    "deep": (b"[" * 100_000, TraceSyntaxError, "nested too deep"),
    "no log": (b"[]", TraceFieldError, "log: wanted an object, as every HAR has, found a list"),
    "no entries": (b'{"log": {}}', TraceFieldError, "log.entries: wanted a list, found null"),
    "entry": (b'{"log": {"entries": [5]}}', TraceFieldError, "log.entries[0]: wanted an object, found 5"),
    "url": (entry(request__url=5), TraceFieldError, "log.entries[1].request.url: wanted a string, found 5"),
    "empty url": (entry(""), TraceFieldError, "log.entries[1].request.url: wanted an absolute URL"),
    "status": (
        entry(response__status="200"),
        TraceFieldError,
        "log.entries[1].response.status: wanted a finite number",
    ),
    "no number": (entry(response__status=float("nan")), TraceFieldError, "log.entries[1].response.status: wanted"),
    "url that nothing reads": (entry("http://[bad"), TraceFieldError, "log.entries[1].request.url: wanted an absolute"),
    "port": (entry("http://a:99999/"), TraceFieldError, "log.entries[1].request.url: wanted an absolute URL"),
    "huge status": (entry(status=5000), TraceFieldError, "log.entries[1].response.status: wanted a status of three"),
    "negative status": (entry(status=-7), TraceFieldError, "three digits, or 0 where there was no answer, found -7"),
    "half a status": (
        entry(response__status=200.5),
        TraceFieldError,
        "log.entries[1].response.status: wanted a status",
    ),
    "header of an answer": (
        entry(response__headers=[{"name": "x y", "value": ""}]),
        TraceFieldError,
        "log.entries[1].response.headers: a header is named 'x y'; wanted a token",
    ),
    "header of a request": (
        entry(request__headers=[{"name": "x", "value": "a\r\nb: c"}]),
        TraceFieldError,
        "log.entries[1].request.headers: header x is 'a\\r\\nb: c'; wanted a value without line ends",
    ),
    "time": (entry(startedDateTime="soon"), TraceFieldError, "log.entries[1].startedDateTime: wanted a date and time"),
    "base64": (
        entry(response__content={"text": "?", "encoding": "base64"}),
        TraceFieldError,
        "log.entries[1].response.content.text: wanted base64",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_har_is_one_clear_line(case: str, tmp_path: Path) -> None:
    """What is wrong is told with the place of the entry."""
    content, kind, message = BROKEN[case]
    text = content if isinstance(content, bytes) else json.dumps({"log": {"entries": [entry(), content]}}).encode()
    (tmp_path / "a.har").write_bytes(text)

    with pytest.raises(kind) as caught:
        import_har(tmp_path / "a.har", tmp_path / "network")

    assert message in caught.value.message
    assert caught.value.message.startswith(f"{tmp_path / 'a.har'}: ")
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    "change", [{"key": "GET http://b/"}, {"ordinal": 0.5}, {"is_navigation": 1}, {"started_ms": "x"}]
)
def test_our_own_field_is_checked_too(change: dict[str, object], tmp_path: Path) -> None:
    """An exported HAR that was changed so that it contradicts itself is refused."""
    with NetworkWriter(tmp_path / "n") as writer:
        request = RecordedRequest(method="GET", url="http://a/", resource_type="", is_navigation=False)
        writer.append(Exchange(ordinal=0, key="GET http://a/", occurrence=0, request=request, started_ms=0))
    har: Any = export_har(read_network(tmp_path / "n"), began=BEGAN, version="1")
    har["log"]["entries"][0]["_eikon"].update(change)
    (tmp_path / "a.har").write_text(json.dumps(har))

    with pytest.raises(TraceFieldError, match=r"log\.entries\[0\]"):
        import_har(tmp_path / "a.har", tmp_path / "network")


def test_headers_of_one_name_are_parted(tmp_path: Path) -> None:
    """Chrome puts the values of headers of one name into one, a line each: they are as many headers."""
    har = imported(tmp_path, entry(response__headers=[{"name": "Set-Cookie", "value": "a=1\nb=2"}]))

    (exchange,) = har.recording.exchanges
    assert exchange.response is not None
    assert exchange.response.headers == (("set-cookie", "a=1"), ("set-cookie", "b=2"))


def test_a_redirect_to_no_url_leads_nowhere(tmp_path: Path) -> None:
    """What a server wrote for a target does not end the import, however it reads."""
    har = imported(tmp_path, entry(status=302, response__redirectURL="http://[bad"))

    (exchange,) = har.recording.exchanges
    assert exchange.response is not None
    assert exchange.response.body_missing == "the HAR has no entry for where it leads, http://[bad"
    assert export_har(har.recording, began=BEGAN, version="1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, r"log\.entries\[1\]\._eikon\.ordinal: 0 is that of log\.entries\[0\] too, and both begin an exchange"),
        ({"key": None}, r"log\.entries\[1\]\._eikon\.ordinal: 0 is that of log\.entries\[0\] too"),
        (
            None,
            r"log\.entries\[0\]\.response\.status: wanted a redirect \(300 to 399\), as log\.entries\[1\] has the same",
        ),
    ],
)
def test_an_ordinal_of_two_exchanges_is_told(change: dict[str, object] | None, message: str, tmp_path: Path) -> None:
    """Entries of one ordinal are one exchange, of redirects and their end; any others are named."""
    with NetworkWriter(tmp_path / "n") as writer:
        for ordinal in range(2):
            writer.append(make_exchange(ordinal=ordinal, occurrence=ordinal))
    har: Any = export_har(read_network(tmp_path / "n"), began=BEGAN, version="1")
    ours = har["log"]["entries"][1]["_eikon"]
    har["log"]["entries"][1]["_eikon"] = {"ordinal": 0} if change is None else {**ours, "ordinal": 0, **change}
    (tmp_path / "a.har").write_text(json.dumps(har))

    with pytest.raises(TraceFieldError, match=message):
        import_har(tmp_path / "a.har", tmp_path / "network")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"occurrence": 0}, "occurrence: 0 of GET http"),
        ({"completion": 0}, "completion: 0 is taken by exchange 0"),
        (
            {"pieces": [{"length": 0, "moment": {"order": 0, "at_ms": 0, "phase": 0}}]},
            "pieces.0.moment.order: 0 is taken by exchange 0",
        ),
    ],
)
def test_a_place_claimed_twice_is_told_with_its_entry(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Two exchanges of an edited HAR that want one place are named as they stand in the HAR."""
    with NetworkWriter(tmp_path / "n") as writer:
        for ordinal in range(2):
            writer.append(make_exchange(ordinal=ordinal, occurrence=ordinal))
    har: Any = export_har(read_network(tmp_path / "n"), began=BEGAN, version="1")
    har["log"]["entries"][1]["_eikon"].update(change)
    (tmp_path / "a.har").write_text(json.dumps(har))

    with pytest.raises(TraceFieldError) as caught:
        import_har(tmp_path / "a.har", tmp_path / "network")

    assert caught.value.message.startswith(f"{tmp_path / 'a.har'}: log.entries[1]._eikon: {message}")


def test_an_attachment_that_leads_out_is_named(tmp_path: Path) -> None:
    """A body that the file names elsewhere than beside it is told with its entry."""
    with pytest.raises(
        BundlePathError, match=r"a\.har: log\.entries\[1\]\.response\.content\._file: wanted a path inside"
    ):
        imported(tmp_path, entry(), entry(response__content={"size": 1, "_file": "../../passwd"}))


def _no_zip(path: Path) -> None:
    path.write_bytes(b"PK\3\4 not really PK\5\6" + b"\0" * 18)


def _empty_zip(path: Path) -> None:
    zipfile.ZipFile(path, "w").close()


def _damage(path: Path, *, packing: int, cut: bool) -> None:
    """Write an archive, and spoil what is in it, or cut its end off."""
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("a.har", json.dumps({"log": {"entries": [entry()]}}))
    data = path.read_bytes()
    path.write_bytes(data[:-30] if cut else data[:40] + b"\xff" * 20 + data[60:])


@pytest.mark.parametrize("name", ["a.zip", "a.har"])
@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_damaged_archive_is_said_to_be_none(name: str, cut: bool, packing: int, tmp_path: Path) -> None:  # noqa: FBT001 - a parameter of the test
    """An archive that was cut off or spoilt is not taken for a JSON text that it never was."""
    _damage(tmp_path / name, packing=packing, cut=cut)

    with pytest.raises(TraceSyntaxError, match=r"no zip archive that can be read \(.+\); export the HAR again"):
        import_har(tmp_path / name, tmp_path / "network")


def test_another_kind_of_file_is_no_archive(tmp_path: Path) -> None:
    """What is named like an archive and begins as none is said to be none."""
    (tmp_path / "a.zip").write_bytes(b"\0\1\2")

    with pytest.raises(TraceSyntaxError, match="no zip archive that can be read"):
        import_har(tmp_path / "a.zip", tmp_path / "network")


@pytest.mark.parametrize(
    ("make", "kind"),
    [(_no_zip, TraceSyntaxError), (_empty_zip, TraceSyntaxError), (Path.mkdir, TraceMissingError)],
)
def test_what_is_no_file_with_a_har_is_told(
    make: Callable[[Path], object], kind: type[TraceError], tmp_path: Path
) -> None:
    """A folder, a broken archive and an archive without a HAR are named."""
    make(tmp_path / "a.har")

    with pytest.raises(kind, match=r"a\.har"):
        import_har(tmp_path / "a.har", tmp_path / "network")


@pytest.mark.parametrize("fault", [RuntimeError("a fault of ours"), RecursionError(), OSError("no space left")])
@pytest.mark.parametrize("name", ["a.zip", "a.har"])
def test_a_fault_while_a_har_is_open_stays_what_it_is(name: str, fault: Exception, tmp_path: Path) -> None:
    """Only what reading the file runs into is said of the file; what its reader runs into is not."""
    har = json.dumps({"log": {"entries": []}})
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("har.har", har)
    (tmp_path / "a.har").write_text(har)

    with pytest.raises(type(fault)) as caught, open_har(tmp_path / name):
        raise fault

    assert caught.value is fault


def test_a_damaged_body_of_an_archive_is_told(tmp_path: Path) -> None:
    """A body that is spoilt is found when it is read, after the archive was opened, and told of the archive."""
    har = {"log": {"entries": [entry(response__content={"size": 2, "_file": "x.txt"})]}}
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("har.har", json.dumps(har))
        archive.writestr("x.txt", "the body")
    (tmp_path / "a.zip").write_bytes((tmp_path / "a.zip").read_bytes().replace(b"the body", b"another!"))

    with pytest.raises(TraceSyntaxError, match=r"a\.zip: no zip archive that can be read \(Bad CRC-32"):
        import_har(tmp_path / "a.zip", tmp_path / "network")
