"""Bundles of imported missions: their network, their files, and cleanup after a failed import."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.errors import EikonError, ForeignFormatError, OutputError, TraceError, UsageError
from eikon_engine.importers.imported_mission import ActionTime, ImportedMission
from eikon_engine.network.store import read_network
from eikon_engine.trace.bundle import open_bundle
from tests.cli.test_import import run
from tests.importers.playwright_zips import URL, call, entry, head, opened, write_zip
from tests.missions.foreign import devtools_flow

if TYPE_CHECKING:
    from eikon_engine.network.store import NetworkRecording
    from tests.importers.playwright_zips import Line

TRACES = Path(__file__).parents[1] / "data" / "traces"
VISIT = [head(), opened(), *call(1, "Frame.goto", url=URL)]
CLICK = call(2, "Frame.click", selector="#a", strict=True)


def imported(tmp_path: Path, *network: Line, files: dict[str, bytes] | None = None) -> NetworkRecording:
    """Import a trace with a network, and return the recording."""
    path = write_zip(tmp_path / "t.zip", [*VISIT, *CLICK], network, {**(files or {})})
    run(str(path), "-o", str(tmp_path / "bundle"))
    return read_network(tmp_path / "bundle" / "network")


def warnings(tmp_path: Path) -> str:
    """Return the warnings of the bundle about missing parts."""
    return "\n".join(open_bundle(tmp_path / "bundle").trace.warnings)


def har(path: Path, *entries: Line) -> Path:
    """Write a HAR."""
    path.write_text(json.dumps({"log": {"entries": [each["snapshot"] for each in entries]}}))
    return path


def content(**fields: object) -> dict[str, object]:
    """Return the response of an entry by its content."""
    return {"content": {"mimeType": "text/plain", **fields}}


def test_exchanges_belong_to_the_action_that_caused_them(tmp_path: Path) -> None:
    """They are ordered by their end, and their phase is that of the last action performed before."""
    recording = imported(
        tmp_path,
        entry(210, f"{URL}data", kind="fetch"),
        entry(110),
        entry(120, f"{URL}slow", kind="fetch", time=300.0),
    )

    found = [
        (each.request.url, each.phase, each.started_ms, each.completed_ms, each.completion)
        for each in recording.exchanges
    ]
    assert found == [
        (URL, 1, 0.0, 0.0, 0),
        (f"{URL}slow", 3, 0.0, 500.0, 2),
        (f"{URL}data", 3, 500.0, 500.0, 1),
    ]


@given(st.lists(st.floats(0, 1e6), min_size=1), st.lists(st.floats(0, 1e6)))
def test_a_later_exchange_is_never_in_an_earlier_phase(acts: list[float], times: list[float]) -> None:
    """Positions keep the order of arrival."""
    known = tuple(ActionTime(at_ms=at_ms, phase=2 * place + 1, page_ms=0.0) for place, at_ms in enumerate(sorted(acts)))
    mission = ImportedMission(source="x", text="x", subgoals=(), action_times=known)

    phases = [mission.phase_and_page_time(at_ms)[0] for at_ms in sorted(times)]

    assert phases == sorted(phases)


def test_bodies_are_read_from_the_archive(tmp_path: Path) -> None:
    """Newer versions refer to files, older ones to digests; uploaded data is in files too."""
    sent = {"method": "POST", "postData": {"mimeType": "text/plain", "_sha1": "cc.txt"}}
    recording = imported(
        tmp_path,
        entry(110, f"{URL}new", kind="fetch", response=content(_file="resources/aa.txt")),
        entry(120, f"{URL}old", kind="fetch", response=content(_sha1="bb.txt"), request=sent | {"url": f"{URL}old"}),
        files={"resources/aa.txt": b"A", "resources/bb.txt": b"B", "resources/cc.txt": b"C"},
    )

    answers = [each.response.body for each in recording.exchanges if each.response and each.response.body]
    requests = [each.request.body for each in recording.exchanges if each.request.body]
    assert [recording.body(each) for each in (*answers, *requests)] == [b"A", b"B", b"C"]


def test_missing_parts_of_the_network_are_warnings(tmp_path: Path) -> None:
    """Missing files, scripts, uploads, downloads and sockets are named; the test's own requests are omitted."""
    upload = {"method": "POST", "headers": [{"name": "content-type", "value": "multipart/form-data; boundary=x"}]}
    attached = [{"name": "content-disposition", "value": "attachment; filename=a.txt"}]
    ended = {"headers": attached, "_failureText": "net::ERR_ABORTED"}
    recording = imported(
        tmp_path,
        entry(110, f"{URL}gone", response=content(_file="resources/gone.txt")),
        entry(111, f"{URL}a.js", kind="script", response=content(size=-1)),
        entry(112, f"{URL}upload", request={**upload, "url": f"{URL}upload"}),
        entry(113, f"{URL}file", response={**content(size=-1), **ended}),
        entry(114, "ws://shop.test/live", kind="websocket"),
        entry(115, f"{URL}api", _apiRequest=True),
    )

    missing = warnings(tmp_path)
    assert [each.request.url.removeprefix(URL) for each in recording.exchanges] == ["gone", "a.js", "upload", "file"]
    assert "line 1 (GET http://shop.test/gone): the attached file resources/gone.txt is missing" in missing
    assert "line 2 (GET http://shop.test/a.js): Playwright stores script bodies only in traces" in missing
    assert "line 3 (POST http://shop.test/upload): the trace does not contain the body of the upload" in missing
    assert "line 4 (GET http://shop.test/file): its download is not in the HAR" in missing
    assert "line 5 is the WebSocket ws://shop.test/live" in missing
    assert "1 requests of the test itself" in missing


def test_at_most_three_warnings_of_a_kind_are_shown(tmp_path: Path) -> None:
    """The others are counted."""
    imported(tmp_path, *(entry(110 + n, f"{URL}{n}", response=content(_file="resources/x")) for n in range(9)))

    assert warnings(tmp_path).count("the attached file") == 4
    assert "6 more exchanges: the attached file resources/x" in warnings(tmp_path)


def test_the_suggested_next_step_depends_on_the_import(tmp_path: Path) -> None:
    """A complete network is certified; otherwise the mission has to be recorded again."""
    script = entry(120, f"{URL}a.js", kind="script", response=content(size=-1))
    whole = write_zip(tmp_path / "whole.zip", VISIT, [entry(110)])
    lacking = write_zip(tmp_path / "lacking.zip", VISIT, [entry(110), script])
    without = write_zip(tmp_path / "without.zip", VISIT)

    assert "next: eikon certify" in run(str(whole), "-o", str(tmp_path / "1"))
    assert "next: eikon record --trace" in run(str(lacking), "-o", str(tmp_path / "2"))
    assert "next: eikon record --trace" in run(str(without), "-o", str(tmp_path / "3"))
    assert "next: eikon certify" in run(
        str(without), "--har", str(har(tmp_path / "a.har", entry(110))), "-o", str(tmp_path / "4")
    )


def test_a_har_adds_the_network_to_any_recording(tmp_path: Path) -> None:
    """Formats without a network become replayable with a HAR."""
    (tmp_path / "flow.json").write_bytes(devtools_flow("http://shop.test", "pass"))
    path = har(tmp_path / "a.har", entry(110), entry(120, f"{URL}data", kind="fetch"))

    run(str(tmp_path / "flow.json"), "--har", str(path), "-o", str(tmp_path / "bundle"))

    assert open_bundle(tmp_path / "bundle").trace.network is not None
    assert len(read_network(tmp_path / "bundle" / "network").exchanges) == 2


def test_a_har_alone_is_a_visit(tmp_path: Path) -> None:
    """Its first document is loaded; a HAR has no other actions."""
    path = har(tmp_path / "a.har", entry(200, f"{URL}late"), entry(100, f"{URL}a.css", kind="stylesheet"), entry(110))

    run(str(path), "-o", str(tmp_path / "bundle"))

    (only,) = open_bundle(tmp_path / "bundle").trace.subgoal_traces
    assert [each.action.model_dump()["url"] for each in only.actions_taken] == [URL]


def test_a_trace_of_an_older_version_is_migrated(tmp_path: Path) -> None:
    """The new bundle has the current version, and keeps its artifacts."""
    printed = run(str(TRACES / "old_format"), "-o", str(tmp_path / "bundle"))

    plain = json.loads((tmp_path / "bundle" / "trace.json").read_text())
    before = {path.relative_to(TRACES / "old_format") for path in (TRACES / "old_format").rglob("*.*")}
    after = {path.relative_to(tmp_path / "bundle") for path in (tmp_path / "bundle").rglob("*.*")}
    assert (plain["trace_version"], plain["migrated_from"]) == (4, "v3.1")
    assert after == before
    assert "actions of eikon v3.1" in printed


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("bad.har",), TraceError, "bad.har: log.entries"),
        (("empty.har",), ForeignFormatError, "the HAR loads no document"),
        (("bad.zip",), TraceError, "bad.zip/trace.network: line 1.startedDateTime: expected an ISO 8601 date"),
        (("good.zip", "--har", "bad.har"), TraceError, "bad.har: log.entries"),
        (("good.har", "--har", "good.har"), UsageError, "applies only to recordings of other tools"),
        (("good.har", "--test", "a"), UsageError, "Omit --test"),
        (("har", "good.zip"), ForeignFormatError, "expected an archive with one *.har file"),
        (("eikon", "good.zip"), ForeignFormatError, "got an archive. Unpack it"),
        (("playwright", "good.har"), ForeignFormatError, "expected a zip archive"),
        (("devtools", "good.zip"), ForeignFormatError, "expected a JSON file, got an archive"),
        (("eikon", "current.json"), ForeignFormatError, "already has the current version"),
        (("future.json",), TraceError, "use a newer Eikon"),
        ((".",), ForeignFormatError, "expected a recording of one known format, got none"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    tmp_path: Path, arguments: tuple[str, ...], error: type[EikonError], message: str
) -> None:
    """No files are left behind, even if a part of the bundle was already written."""
    har(tmp_path / "good.har", entry(110))
    har(tmp_path / "bad.har", entry(110), entry(111, startedDateTime="yesterday"))
    har(tmp_path / "empty.har")
    write_zip(tmp_path / "good.zip", VISIT, [entry(110)])
    write_zip(tmp_path / "bad.zip", VISIT, [entry(110, startedDateTime="yesterday")])
    (tmp_path / "current.json").write_bytes((TRACES / "shop_passing" / "trace.json").read_bytes())
    (tmp_path / "future.json").write_text('{"trace_version": 99}')
    given = [str(tmp_path / each) if "." in each else each for each in arguments]

    with pytest.raises(error) as caught:
        run(*given, "-o", str(tmp_path / "bundle"))

    assert message in caught.value.message
    assert "\n" not in caught.value.message
    assert not (tmp_path / "bundle").exists()


def test_a_folder_keeps_its_other_files(tmp_path: Path) -> None:
    """A failed import deletes only its own files."""
    har(tmp_path / "bad.har", entry(110), entry(111, startedDateTime="yesterday"))
    (tmp_path / "bundle").mkdir()
    (tmp_path / "bundle" / "notes.txt").write_text("mine")

    with pytest.raises(TraceError):
        run(str(tmp_path / "bad.har"), "-o", str(tmp_path / "bundle"))

    assert [each.name for each in (tmp_path / "bundle").iterdir()] == ["notes.txt"]


def test_a_recorded_network_is_never_overwritten(tmp_path: Path) -> None:
    """A folder with a recorded network is refused, and keeps it."""
    (tmp_path / "bundle" / "network").mkdir(parents=True)
    path = write_zip(tmp_path / "t.zip", VISIT, [entry(110)])

    with pytest.raises(OutputError):
        run(str(path), "-o", str(tmp_path / "bundle"))

    assert (tmp_path / "bundle" / "network").is_dir()
