"""A faulty HAR file causes one clear error line, and none of its responses is served."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.errors import BundlePathError, TraceError, TraceFieldError, TraceSyntaxError
from eikon_engine.exporters.har import export_har
from eikon_engine.importers.har_file import open_har
from eikon_engine.importers.har_network import import_har
from eikon_engine.network.exchange import Exchange, RecordedRequest
from eikon_engine.network.store import NetworkWriter, read_network
from tests.error_codes import has_code
from tests.network.factories import make_exchange
from tests.network.hars import BEGAN, entry, imported

if TYPE_CHECKING:
    from collections.abc import Callable


BROKEN: dict[str, tuple[bytes | dict[str, Any], type[TraceError], str]] = {
    "cut off": (b'{"log": {', TraceSyntaxError, "expected valid JSON"),
    "not text": (b"\xff\xfe\0", TraceSyntaxError, "expected valid JSON"),
    "deep": (b"[" * 100_000, TraceSyntaxError, "nested too deep"),
    "no log": (b"[]", TraceFieldError, "log: expected an object, as every HAR has, got a list"),
    "no entries": (b'{"log": {}}', TraceFieldError, "log.entries: expected a list, got null"),
    "entry": (b'{"log": {"entries": [5]}}', TraceFieldError, "log.entries[0]: expected an object, got 5"),
    "url": (entry(request__url=5), TraceFieldError, "log.entries[1].request.url: expected a string, got 5"),
    "empty url": (entry(""), TraceFieldError, "log.entries[1].request.url: expected an absolute URL"),
    "status": (
        entry(response__status="200"),
        TraceFieldError,
        "log.entries[1].response.status: expected a finite number",
    ),
    "no number": (entry(response__status=float("nan")), TraceFieldError, "log.entries[1].response.status: expected"),
    "no machine's number": (
        entry(response__status=10**400),
        TraceFieldError,
        "log.entries[1].response.status: expected",
    ),
    "url that nothing reads": (
        entry("http://[bad"),
        TraceFieldError,
        "log.entries[1].request.url: expected an absolute",
    ),
    "port": (entry("http://a:99999/"), TraceFieldError, "log.entries[1].request.url: expected an absolute URL"),
    "huge status": (
        entry(status=5000),
        TraceFieldError,
        "log.entries[1].response.status: expected a three-digit status",
    ),
    "negative status": (entry(status=-7), TraceFieldError, "or 0 if there was no response, got -7"),
    "half a status": (
        entry(response__status=200.5),
        TraceFieldError,
        "log.entries[1].response.status: expected a three-digit status",
    ),
    "header of an answer": (
        entry(response__headers=[{"name": "x y", "value": ""}]),
        TraceFieldError,
        "log.entries[1].response.headers: invalid header name 'x y': expected a token",
    ),
    "header of a request": (
        entry(request__headers=[{"name": "x", "value": "a\r\nb: c"}]),
        TraceFieldError,
        "log.entries[1].request.headers: invalid value 'a\\r\\nb: c' of header x: expected no line breaks",
    ),
    "time": (
        entry(startedDateTime="soon"),
        TraceFieldError,
        "log.entries[1].startedDateTime: expected an ISO 8601 date and time",
    ),
    "base64": (
        entry(response__content={"text": "?", "encoding": "base64"}),
        TraceFieldError,
        "log.entries[1].response.content.text: expected base64",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_har_is_one_clear_line(case: str, tmp_path: Path) -> None:
    """The fault is reported with the position of the entry."""
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
    """An exported HAR with contradictory edits is rejected."""
    with NetworkWriter(tmp_path / "n") as writer:
        request = RecordedRequest(method="GET", url="http://a/", resource_type="", is_navigation=False)
        writer.append(Exchange(ordinal=0, key="GET http://a/", occurrence=0, request=request, started_ms=0))
    har: Any = export_har(read_network(tmp_path / "n"), started_at=BEGAN, version="1")
    har["log"]["entries"][0]["_eikon"].update(change)
    (tmp_path / "a.har").write_text(json.dumps(har))

    with pytest.raises(TraceFieldError, match=r"log\.entries\[0\]"):
        import_har(tmp_path / "a.har", tmp_path / "network")


def test_headers_of_one_name_are_parted(tmp_path: Path) -> None:
    """Header values that Chrome joined with line breaks become separate headers."""
    har = imported(tmp_path, entry(response__headers=[{"name": "Set-Cookie", "value": "a=1\nb=2"}]))

    (exchange,) = har.recording.exchanges
    assert exchange.response is not None
    assert exchange.response.headers == (("set-cookie", "a=1"), ("set-cookie", "b=2"))


def test_a_redirect_to_no_url_leads_nowhere(tmp_path: Path) -> None:
    """An invalid redirect URL does not end the import."""
    har = imported(tmp_path, entry(status=302, response__redirectURL="http://[bad"))

    (exchange,) = har.recording.exchanges
    assert exchange.response is not None
    assert exchange.response.body_missing == "the HAR has no entry for the redirect target http://[bad"
    assert export_har(har.recording, started_at=BEGAN, version="1")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, r"log\.entries\[1\]\._eikon\.ordinal: 0 is already used by log\.entries\[0\]\. Make it unique"),
        ({"key": None}, r"log\.entries\[1\]\._eikon\.ordinal: 0 is already used by log\.entries\[0\]"),
        (
            None,
            (
                r"log\.entries\[0\]\.response\.status: expected a redirect \(300 to 399\), since "
                r"log\.entries\[1\] continues it"
            ),
        ),
    ],
)
def test_a_duplicate_ordinal_is_reported(change: dict[str, object] | None, message: str, tmp_path: Path) -> None:
    """Entries with one ordinal are one exchange: redirects and their final response; others are an error."""
    with NetworkWriter(tmp_path / "n") as writer:
        for ordinal in range(2):
            writer.append(make_exchange(ordinal=ordinal, occurrence=ordinal))
    har: Any = export_har(read_network(tmp_path / "n"), started_at=BEGAN, version="1")
    ours = har["log"]["entries"][1]["_eikon"]
    har["log"]["entries"][1]["_eikon"] = {"ordinal": 0} if change is None else {**ours, "ordinal": 0, **change}
    (tmp_path / "a.har").write_text(json.dumps(har))

    with pytest.raises(TraceFieldError, match=message):
        import_har(tmp_path / "a.har", tmp_path / "network")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"occurrence": 0}, "occurrence: 0 of GET http"),
        ({"completion": 0}, "completion: 0 is already used by exchange 0"),
        (
            {"pieces": [{"length": 0, "moment": {"order": 0, "at_ms": 0, "phase": 0}}]},
            "pieces.0.moment.order: 0 is already used by exchange 0",
        ),
    ],
)
def test_a_duplicate_position_is_reported_with_its_entry(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Two exchanges of an edited HAR with one position are named by their entries."""
    with NetworkWriter(tmp_path / "n") as writer:
        for ordinal in range(2):
            writer.append(make_exchange(ordinal=ordinal, occurrence=ordinal))
    har: Any = export_har(read_network(tmp_path / "n"), started_at=BEGAN, version="1")
    har["log"]["entries"][1]["_eikon"].update(change)
    (tmp_path / "a.har").write_text(json.dumps(har))

    with pytest.raises(TraceFieldError) as caught:
        import_har(tmp_path / "a.har", tmp_path / "network")

    assert caught.value.message.startswith(f"{tmp_path / 'a.har'}: log.entries[1]._eikon: {message}")


def test_an_attachment_that_leads_out_is_named(tmp_path: Path) -> None:
    """A path outside the HAR's folder is rejected, with the entry that names it."""
    with pytest.raises(
        BundlePathError, match=r"a\.har: log\.entries\[1\]\.response\.content\._file: expected a path inside"
    ):
        imported(tmp_path, entry(), entry(response__content={"size": 1, "_file": "../../passwd"}))


def _no_zip(path: Path) -> None:
    path.write_bytes(b"PK\3\4 not really PK\5\6" + b"\0" * 18)


def _empty_zip(path: Path) -> None:
    zipfile.ZipFile(path, "w").close()


def _damage(path: Path, *, packing: int, cut: bool) -> None:
    """Write an archive and corrupt its content or truncate it."""
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("a.har", json.dumps({"log": {"entries": [entry()]}}))
    data = path.read_bytes()
    path.write_bytes(data[:-30] if cut else data[:40] + b"\xff" * 20 + data[60:])


@pytest.mark.parametrize("name", ["a.zip", "a.har"])
@pytest.mark.parametrize("cut", [True, False])
@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_damaged_archive_is_reported_as_such(name: str, cut: bool, packing: int, tmp_path: Path) -> None:  # noqa: FBT001 - a parameter of the test
    """A truncated or corrupt archive is not read as JSON text."""
    _damage(tmp_path / name, packing=packing, cut=cut)

    with pytest.raises(TraceSyntaxError, match=r"not a readable zip archive: .+\. Export the HAR again"):
        import_har(tmp_path / name, tmp_path / "network")


def test_another_kind_of_file_is_no_archive(tmp_path: Path) -> None:
    """A file with an archive's suffix but other content is reported as not being an archive."""
    (tmp_path / "a.zip").write_bytes(b"\0\1\2")

    with pytest.raises(TraceSyntaxError, match="not a readable zip archive"):
        import_har(tmp_path / "a.zip", tmp_path / "network")


@pytest.mark.parametrize(
    ("make", "code"),
    [(_no_zip, "trace-syntax"), (_empty_zip, "trace-syntax"), (Path.mkdir, "trace-missing")],
)
def test_a_path_without_a_har_is_reported(make: Callable[[Path], object], code: str, tmp_path: Path) -> None:
    """A folder, a corrupt archive and an archive without a HAR are named."""
    make(tmp_path / "a.har")

    with pytest.raises(TraceError, match=r"a\.har", check=has_code(code)):
        import_har(tmp_path / "a.har", tmp_path / "network")


@pytest.mark.parametrize("fault", [RuntimeError("a fault of ours"), RecursionError(), OSError("no space left")])
@pytest.mark.parametrize("name", ["a.zip", "a.har"])
def test_a_fault_while_a_har_is_open_stays_what_it_is(name: str, fault: Exception, tmp_path: Path) -> None:
    """Only errors of reading the file are reported as such; errors of the caller pass through unchanged."""
    har = json.dumps({"log": {"entries": []}})
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("har.har", har)
    (tmp_path / "a.har").write_text(har)

    with pytest.raises(type(fault)) as caught, open_har(tmp_path / name):
        raise fault

    assert caught.value is fault


def test_a_damaged_body_of_an_archive_is_reported(tmp_path: Path) -> None:
    """A corrupt body is found when it is read, and the message names the archive."""
    har = {"log": {"entries": [entry(response__content={"size": 2, "_file": "x.txt"})]}}
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("har.har", json.dumps(har))
        archive.writestr("x.txt", "the body")
    (tmp_path / "a.zip").write_bytes((tmp_path / "a.zip").read_bytes().replace(b"the body", b"another!"))

    with pytest.raises(TraceSyntaxError, match=r"a\.zip: not a readable zip archive: Bad CRC-32"):
        import_har(tmp_path / "a.zip", tmp_path / "network")
