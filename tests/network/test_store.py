"""Exchanges and blobs read back as written, and damage is detected."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from eikon_engine.errors import OutputError, TraceError, TraceFieldError, TraceSyntaxError
from eikon_engine.files.blobs import BlobRef, BlobStore
from eikon_engine.network.exchange import Exchange, Hop, Moment, Piece, RecordedRequest, RecordedResponse
from eikon_engine.network.keys import request_key
from eikon_engine.network.long_tasks import MAX_GAP_MS, LongTask
from eikon_engine.network.store import NetworkWriter, read_network
from tests.error_codes import has_code
from tests.network.factories import make_exchange

TEXTS = st.text(max_size=8)
NAMES = st.from_regex(r"\A[!#$%&'*+.^_`|~0-9A-Za-z-]{1,8}\Z")
VALUES = TEXTS.map(lambda text: re.sub("[\r\n\0]", "", text))
HEADERS = st.lists(st.tuples(NAMES, VALUES), max_size=3).map(tuple)
TIMES = st.floats(min_value=0, max_value=1e9)


@st.composite
def endings(draw: st.DrawFn, place: int) -> dict[str, Any]:
    """Generate a response, a failure or neither."""
    response = RecordedResponse(
        url="http://a/",
        status=draw(st.integers(100, 999)),
        status_text=draw(TEXTS),
        headers=draw(HEADERS),
        body_missing=draw(st.none() | TEXTS),
    )
    done = {"completed_ms": 1e9 + draw(TIMES), "completion": place}
    return draw(
        st.sampled_from(
            [{}, {"response": response}, {"response": response, **done}, {"failure": "net::ERR_ABORTED", **done}]
        )
    )


@st.composite
def recordings(draw: st.DrawFn) -> list[Exchange]:
    """Generate exchanges of one URL, in any order of writing."""
    exchanges = []
    for place in range(draw(st.integers(0, 4))):
        url = f"http://a/?{draw(TEXTS)}"
        request = RecordedRequest(
            method="GET", url=url, headers=draw(HEADERS), resource_type="fetch", is_navigation=draw(st.booleans())
        )
        hops = tuple(draw(st.lists(st.builds(Hop, url=TEXTS, status=st.integers(300, 399), headers=HEADERS))))
        key = request_key("GET", url, draw(st.none() | st.binary()), None)
        exchanges.append(
            Exchange(
                ordinal=place,
                key=key,
                occurrence=place,
                request=request,
                hops=hops,
                started_ms=draw(TIMES),
                **draw(endings(place)),
            )
        )
    return draw(st.permutations(exchanges))


@given(recordings())
def test_exchanges_read_back_as_they_were_written(exchanges: list[Exchange]) -> None:
    """Every exchange survives the file; exchanges are read in issue order."""
    with TemporaryDirectory() as name:
        with NetworkWriter(Path(name)) as writer:
            for exchange in exchanges:
                writer.append(exchange)

        recording = read_network(Path(name))

    assert list(recording.exchanges) == sorted(exchanges, key=lambda exchange: exchange.ordinal)
    assert recording.truncation is None


def test_an_index_truncated_at_any_byte_keeps_earlier_lines(tmp_path: Path) -> None:
    """A killed recorder loses only its last line, with a note."""
    _write(tmp_path, [make_exchange("http://a/é", ordinal=place, occurrence=place) for place in range(3)])
    index = tmp_path / "index.jsonl"
    whole = index.read_bytes()

    for length in range(len(whole) + 1):
        index.write_bytes(whole[:length])
        recording = read_network(tmp_path)

        ends = [place for place, byte in enumerate(whole) if byte == ord("\n")]
        assert len(recording.exchanges) == sum(end <= length for end in ends)
        assert (recording.truncation is None) == (length == 0 or length in ends or length - 1 in ends)


def test_an_index_is_read_again_only_if_it_has_changed(tmp_path: Path) -> None:
    """A shorter one is read, and so is one of the same size that replaces it."""
    _write(tmp_path, [make_exchange(f"http://a/{place}", ordinal=place) for place in range(2)])
    first = read_network(tmp_path)
    assert read_network(tmp_path) is first

    index = tmp_path / "index.jsonl"
    other = tmp_path / "other.jsonl"
    other.write_text(index.read_text().replace("http://a/1", "http://b/1"))
    other.replace(index)
    assert [each.request.url for each in read_network(tmp_path).exchanges] == ["http://a/0", "http://b/1"]

    index.write_text(index.read_text().partition("\n")[0] + "\n")
    assert [each.request.url for each in read_network(tmp_path).exchanges] == ["http://a/0"]


def test_bad_line_in_the_middle_is_an_error(tmp_path: Path) -> None:
    """Only the last line may be truncated; any other bad line is an error that names its number."""
    _write(tmp_path, [make_exchange()])
    index = tmp_path / "index.jsonl"
    index.write_bytes(b"{torn\n" + index.read_bytes())

    with pytest.raises(TraceSyntaxError, match=r"line 1: expected a JSON object, got '\{torn'"):
        read_network(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    (
        ('"status":200', '"status":"200"', "line 1: response.status: Input should be a valid integer"),
        ('"ordinal":0,', "", "line 1: ordinal: Field required"),
        ('"ordinal":0', '"ordinal":0,"colour":1', "line 1: colour: Extra inputs are not permitted"),
        ('"failure":null', '"failure":"x"', r"line 1: exchange: response \(status 200\) and failure \(x\)"),
        ('"key":"GET', '"key":"PUT', "line 1: exchange: key 'PUT http://shop.test/items' does not match its request"),
        (',"phase":0', "", "line 1: phase: the field is missing"),
        (',"pieces":[]', "", "line 1: pieces: the field is missing"),
        (
            ',"headers":[],"body":null,"resource',
            ',"body":null,"resource',
            "line 1: request.headers: the field is missing",
        ),
        (',"status_text":""', "", "line 1: response.status_text: the field is missing"),
        ('"status":200', '"status":42', "line 1: response: expected a three-digit status, .* got 42"),
        ('"status":200', '"status":1000', "line 1: response: expected a three-digit status, .* got 1000"),
        ('"status":200', '"status":0', "line 1: response: expected a three-digit status, .* got 0"),
        ('"completion":0', '"completion":null', "line 1: exchange: completed_ms is 1.0, completion is None"),
    ),
)
def test_wrong_field_is_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    """An invalid line is an error with its number and the path of the field."""
    _write(tmp_path, [make_exchange()])
    index = tmp_path / "index.jsonl"
    index.write_text(index.read_text().replace(old, new, 1))

    with pytest.raises(TraceFieldError, match=message):
        read_network(tmp_path)


def test_recordings_from_before_moments_are_read(tmp_path: Path) -> None:
    """Recordings of the first format, without phases and pieces, remain readable."""
    _write(tmp_path, [make_exchange()])
    index = tmp_path / "index.jsonl"
    index.write_text(index.read_text().replace(',"phase":0,"pieces":[]', ""))

    assert read_network(tmp_path).exchanges == (make_exchange(),)


@pytest.mark.parametrize("part", ("request", "response", "hops"))
@pytest.mark.parametrize(
    ("header", "message"),
    (
        (["x y", "a"], "invalid header name 'x y': expected a token"),
        (["", "a"], "invalid header name '': expected a token"),
        (["x\n", "a"], "invalid header name 'x"),
        (["x", "a\r\nset-cookie: b"], "invalid value 'a.*' of header x: expected no line breaks"),
        (["x", "a\nb"], "invalid value 'a.*' of header x: expected no line breaks"),
        (["x", "a\0"], "invalid value 'a.*' of header x: expected no line breaks and no NUL"),
        (["set-cookie", "a=1\r\nx: y"], "invalid value 'a=1"),
    ),
)
def test_impossible_headers_are_refused(tmp_path: Path, part: str, header: list[str], message: str) -> None:
    """Headers that HTTP cannot carry, or that would inject another header, are rejected."""
    hop = Hop(url="http://shop.test/", status=302)
    _write(tmp_path, [make_exchange().model_copy(update={"hops": (hop,)})])
    index = tmp_path / "index.jsonl"
    line = json.loads(index.read_text())
    (line[part][0] if part == "hops" else line[part])["headers"] = [header]
    index.write_text(json.dumps(line) + "\n")

    with pytest.raises(TraceFieldError, match=f"line 1: {part}.*headers: {message}"):
        read_network(tmp_path)


def test_headers_reported_by_browsers_are_read() -> None:
    """HTTP/2 pseudo headers, any text in a value, and joined cookies are preserved."""
    request = RecordedRequest(
        method="GET",
        url="http://a/",
        headers=((":method", "GET"), ("x-name", "caf\xe9 \t")),
        resource_type="fetch",
        is_navigation=False,
    )
    response = RecordedResponse(url="http://a/", status=200, headers=(("set-cookie", "a=1\nb=2"), (":status", "200")))

    assert request.headers[0] == (":method", "GET")
    assert response.headers[0] == ("set-cookie", "a=1\nb=2")
    assert RecordedResponse(url="file:///a", status=0).status == 0


@pytest.mark.parametrize(
    "second",
    (
        make_exchange("http://a/", ordinal=0, occurrence=1),
        make_exchange("http://a/", ordinal=1, occurrence=0),
        make_exchange("http://a/", ordinal=1, occurrence=1).model_copy(update={"completion": 0}),
    ),
    ids=["ordinal", "occurrence", "completion"],
)
def test_two_exchanges_cannot_have_one_position(
    tmp_path: Path, second: Exchange, request: pytest.FixtureRequest
) -> None:
    """Both the reader and the writer reject the second exchange."""
    first = make_exchange("http://a/")
    with NetworkWriter(tmp_path / "written") as writer:
        writer.append(first)
        with pytest.raises(TraceFieldError, match="is already used by exchange 0"):
            writer.append(second)
    (tmp_path / "index.jsonl").write_text(f"{first.model_dump_json()}\n{second.model_dump_json()}\n")

    with pytest.raises(
        TraceFieldError, match=rf"line 2: {request.node.callspec.id}: \d.* is already used by exchange 0"
    ):
        read_network(tmp_path)


def test_no_two_pieces_have_one_position(tmp_path: Path) -> None:
    """Pieces and ends share one order; only the first piece may arrive with the headers."""
    places = (Moment(order=1, at_ms=0, phase=1), Moment(order=2, at_ms=0, phase=1))
    first, second = places
    for number, (moments, fault) in enumerate(
        (
            ((first, second), None),
            ((first, first), None),
            ((first, second, second), "pieces.2.moment.order: 2 is already used by exchange 0"),
            ((first, first, first), "pieces.2.moment.order: 1 is already used by exchange 0"),
            ((places[0].model_copy(update={"order": 0}),), "pieces.0.moment.order: 0 is already used by exchange 0"),
        )
    ):
        folder = tmp_path / str(number)
        _write(folder, [])
        pieces = tuple(Piece(length=0, moment=moment) for moment in moments)
        exchange = make_exchange().model_copy(update={"pieces": pieces})
        (folder / "index.jsonl").write_text(exchange.model_dump_json() + "\n")
        if fault is None:
            assert read_network(folder).exchanges == (exchange,)
            continue
        with pytest.raises(TraceFieldError, match=f"line 1: {fault}"):
            read_network(folder)


def test_missing_blob_is_found_when_reading(tmp_path: Path) -> None:
    """A recording with a missing body is rejected when it is opened, not during a replay."""
    with NetworkWriter(tmp_path) as writer:
        ref = writer.write_blob(b"body")
        writer.append(make_exchange(response_body=ref))
    BlobStore(tmp_path / "blobs").path(ref).unlink()

    with pytest.raises(TraceError, match=r"line 1: missing body of exchange 0", check=has_code("attachment-missing")):
        read_network(tmp_path)


def test_line_is_not_written_before_its_blob(tmp_path: Path) -> None:
    """The writer rejects an exchange whose body it has not stored."""
    with NetworkWriter(tmp_path) as writer, pytest.raises(TraceError, check=has_code("attachment-missing")):
        writer.append(make_exchange(response_body=BlobRef(sha256="0" * 64, size=1)))

    assert read_network(tmp_path).exchanges == ()


def test_missing_index_and_used_folder_are_refused(tmp_path: Path) -> None:
    """Reading requires an index, and writing does not overwrite one."""
    with pytest.raises(TraceError, match=r"index\.jsonl", check=has_code("attachment-missing")):
        read_network(tmp_path)
    _write(tmp_path, [])
    with pytest.raises(OutputError, match="already"):
        NetworkWriter(tmp_path)


def test_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """An unwritable output has its own error."""
    (tmp_path / "file").write_text("")

    with pytest.raises(OutputError, match="hoose"):
        NetworkWriter(tmp_path / "file" / "network")
    with pytest.raises(OutputError, match="hoose a writable folder"):
        BlobStore(tmp_path / "file" / "blobs").put(b"x")


@given(st.binary(max_size=300), st.data())
def test_a_damaged_blob_never_returns_different_bytes(data: bytes, draw: st.DataObject) -> None:
    """A file's content is returned unchanged or not at all."""
    with TemporaryDirectory() as name:
        store = BlobStore(Path(name))
        ref = store.put(data)
        packed = store.path(ref).read_bytes()
        place = draw.draw(st.integers(0, len(packed) - 1))
        byte = draw.draw(st.integers(0, 255).filter(lambda value: value != packed[place]))
        for damaged in (packed[:place], packed[:place] + bytes([byte]) + packed[place + 1 :], packed + b"\0"):
            store.path(ref).write_bytes(damaged)
            try:
                found = store.get(ref)
            except TraceError:
                continue
            assert found == data


@given(st.binary(max_size=300), st.binary(max_size=300))
def test_swapped_blob_is_always_found(data: bytes, other: bytes) -> None:
    """A valid blob of other content under the name is rejected."""
    with TemporaryDirectory() as name:
        store = BlobStore(Path(name))
        ref = store.put(data)
        store.path(store.put(other)).replace(store.path(ref))

        if data == other:
            store.verify(ref)
        else:
            with pytest.raises(TraceError, check=has_code("attachment-corrupt")):
                store.verify(ref)


def test_blob_is_never_inflated_beyond_its_size(tmp_path: Path) -> None:
    """A blob that inflates beyond its declared size, or declares an impossible one, is rejected."""
    store = BlobStore(tmp_path)
    ref = store.put(b"x")
    streamed = zstandard.ZstdCompressor().compressobj()
    bombs = [
        zstandard.ZstdCompressor().compress(bytes(50_000_000)),
        streamed.compress(bytes(50_000_000)) + streamed.flush(),
    ]

    for bomb in bombs:
        store.path(ref).write_bytes(bomb)
        with pytest.raises(TraceError, match="not a zstd frame of 1 bytes", check=has_code("attachment-corrupt")):
            store.get(ref)
    liar = b"\x28\xb5\x2f\xfd\xe0" + (10**15).to_bytes(8, "little") + b"\x01\x00\x00"
    store.path(ref).write_bytes(liar)
    with pytest.raises(TraceError, match="expected at most 1,024 MiB", check=has_code("too-large")):
        store.get(BlobRef(sha256=ref.sha256, size=10**15))


def test_blob_is_written_once_and_leaves_nothing_else(tmp_path: Path) -> None:
    """Storing the same content again does not touch its file."""
    store = BlobStore(tmp_path / "new" / "blobs")
    ref = store.put(b"body")
    store.path(ref).write_bytes(b"touched")

    assert store.put(b"body") == ref
    assert store.path(ref).read_bytes() == b"touched"
    assert [path.name for path in store.folder.iterdir()] == [f"{ref.sha256}.zst"]


@pytest.mark.parametrize("name", ("../../etc/passwd", "", "A" * 64, "0" * 63, "0" * 64 + "\n", "0" * 63 + "/"))
def test_blob_name_cannot_leave_the_folder(name: str) -> None:
    """A digest consists of exactly 64 lower-case hexadecimal digits."""
    with pytest.raises(ValidationError, match="sha256"):
        BlobRef(sha256=name, size=0)


def test_bodies_read_back(tmp_path: Path) -> None:
    """A recording returns the bodies of its exchanges, including empty ones."""
    with NetworkWriter(tmp_path) as writer:
        refs = [writer.write_blob(data) for data in (b"", b"x" * 100_000)]

    recording = read_network(tmp_path)

    assert [recording.body(ref) for ref in refs] == [b"", b"x" * 100_000]


def _write(folder: Path, exchanges: list[Exchange]) -> None:
    with NetworkWriter(folder) as writer:
        for exchange in exchanges:
            writer.append(exchange)


def test_a_refused_folder_gets_no_file(tmp_path: Path) -> None:
    """Socket events of another recording are in it; once they are gone, the folder can be used."""
    events = tmp_path / "sockets.jsonl"
    events.touch()

    with pytest.raises(OutputError, match=r"sockets\.jsonl: the folder already contains a network recording"):
        NetworkWriter(tmp_path)

    assert [each.name for each in tmp_path.iterdir()] == [events.name]
    events.unlink()
    NetworkWriter(tmp_path).close()


def test_long_tasks_read_back_merged(tmp_path: Path) -> None:
    """Pages report overlapping tasks, and tasks follow each other; a killed recorder may leave half a line."""
    first, overlapping, next_one, later = (
        LongTask(begun_ms=begun_ms, ended_ms=ended_ms)
        for begun_ms, ended_ms in ((10, 70), (40, 60), (70 + MAX_GAP_MS - 1, 200), (500, 600))
    )

    with NetworkWriter(tmp_path) as writer:
        writer.append_long_tasks([later, next_one])
        writer.append_long_tasks([overlapping, first])
    writer.append_long_tasks([LongTask(begun_ms=900, ended_ms=990)])
    whole = read_network(tmp_path)
    path = tmp_path / "long_tasks.jsonl"
    path.write_bytes(path.read_bytes()[:-5])
    cut = read_network(tmp_path)

    assert (whole.long_tasks, whole.truncation) == ((LongTask(begun_ms=10, ended_ms=200), later), None)
    assert cut.long_tasks == (overlapping, next_one, later)
    assert "long_tasks.jsonl, line 4" in (cut.truncation or "")


def test_a_recording_without_long_tasks_has_no_file(tmp_path: Path) -> None:
    """Most recordings have none."""
    with NetworkWriter(tmp_path):
        pass

    assert read_network(tmp_path).long_tasks == ()
    assert not (tmp_path / "long_tasks.jsonl").exists()
