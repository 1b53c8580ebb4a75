"""A recording is completed, whatever happened to its network files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.errors import OutputError
from eikon_engine.network.exchange import Moment
from eikon_engine.network.store import read_network
from eikon_engine.network.websocket import SocketMessage
from eikon_engine.record.bundle_writer import Attempt, BundleWriter
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.trace_file import read_trace
from tests.network.factories import make_exchange
from tests.trace.trace_values import START, action, trace

if TYPE_CHECKING:
    from pathlib import Path

ACTED_MS = 900.0


@pytest.fixture
def writer(tmp_path: Path) -> BundleWriter:
    """Return the writer of a mission with one action, and a response and a message that came before it acted."""
    made = BundleWriter(tmp_path / "b")
    attempt = Attempt(subgoal_id="s1", number=1)
    made.start(trace(status="running"))
    made.start_subgoal(attempt, "Try it", START)
    seen = Observation(pages=(), begun_ms=100.0, acted_ms=ACTED_MS)
    made.add_action(attempt, action(1, observation=seen))
    made.network.append(make_exchange().model_copy(update={"phase": 2, "completed_ms": 500.0, "completion": 0}))
    moment = Moment(order=1, at_ms=600, phase=2)
    made.network.append_socket(
        SocketMessage(socket=0, sender="server", binary=False, text="a", body=None, moment=moment)
    )
    made.end_subgoal(attempt, START, "complete", None)
    return made


def test_what_was_received_before_an_action_acted_precedes_it(writer: BundleWriter) -> None:
    """It is known only when the recording ends."""
    writer.finish(START, "complete")

    recording = read_network(writer.directory / "network")
    assert [recording.exchanges[0].phase, recording.sockets[0].moment.phase] == [1, 1]
    assert read_trace(writer.directory).warnings == ()


@pytest.mark.parametrize("damage", ["a line", "a file"])
def test_a_mission_with_damaged_network_files_is_completed_with_a_warning(writer: BundleWriter, damage: str) -> None:
    """Nothing that was recorded is lost."""
    index = writer.directory / "network" / "index.jsonl"
    if damage == "a line":
        index.write_bytes(b"{\n" + index.read_bytes())
    else:
        index.unlink()

    writer.finish(START, "complete")

    read = read_trace(writer.directory)
    assert (read.status, len(read.subgoal_traces[0].actions_taken)) == ("complete", 1)
    assert str(index) in read.warnings[0]


def test_a_cut_off_line_stays_as_it_is(writer: BundleWriter) -> None:
    """Readers warn of it."""
    index = writer.directory / "network" / "index.jsonl"
    whole = index.read_bytes()
    index.write_bytes(whole + whole[:40])

    writer.finish(START, "complete")

    assert index.read_bytes() == whole + whole[:40]


def test_an_unfinished_recording_makes_room_for_the_next(
    writer: BundleWriter, caplog: pytest.LogCaptureFixture
) -> None:
    """A killed process leaves its journal open; it is moved aside whole, and one line says where it is."""
    folder = writer.directory
    for number in (1, 2):
        left = sorted(path.relative_to(folder) for path in folder.rglob("*"))
        writer.close()  # as the end of a process does

        writer = BundleWriter(folder)

        aside = folder.with_name(f"b.unfinished-{number}")
        assert sorted(path.relative_to(aside) for path in aside.rglob("*")) == left
        assert caplog.messages[-1] == f"{folder}: an unfinished recording was there; moved it to {aside}"
        writer.start(trace(status="running"))
    assert len(read_trace(folder.with_name("b.unfinished-1")).subgoal_traces[0].actions_taken) == 1
    writer.finish(START, "complete")
    with pytest.raises(OutputError, match=r"trace\.json: a recording exists already"):
        BundleWriter(folder)
    assert not folder.with_name("b.unfinished-3").exists()


def test_only_a_recording_is_moved(writer: BundleWriter) -> None:
    """A test next to the journal would disappear with it; what a killed process was writing is part of it."""
    folder = writer.directory
    writer.write_file("storage_state.json", b"{}")
    writer.write_file("screenshots/1.png", b"png")
    writer.close()
    (folder / ".storage_state.json.x1.tmp").touch()
    (folder / "test_checkout.py").touch()
    before = sorted(folder.rglob("*"))

    with pytest.raises(OutputError, match=r"files that are not part of it \(test_checkout\.py\); choose another"):
        BundleWriter(folder)

    assert sorted(folder.rglob("*")) == before
    (folder / "test_checkout.py").unlink()
    BundleWriter(folder).close()
    assert (folder.with_name("b.unfinished-1") / "storage_state.json").exists()


def test_a_linked_folder_is_not_moved(writer: BundleWriter, tmp_path: Path) -> None:
    """The link would lead nowhere."""
    writer.close()
    link = tmp_path / "link"
    link.symlink_to(writer.directory)

    with pytest.raises(OutputError, match="which this links to; choose another folder"):
        BundleWriter(link)

    assert (link / "journal.jsonl").exists()


def test_a_recording_in_progress_is_not_moved(writer: BundleWriter) -> None:
    """Two missions that record into one folder do not disturb each other."""
    with pytest.raises(OutputError, match="another process is recording into this folder; choose another one"):
        BundleWriter(writer.directory)

    writer.finish(START, "complete")
    assert len(read_trace(writer.directory).subgoal_traces[0].actions_taken) == 1


def test_the_current_folder_is_not_moved(writer: BundleWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose folder is renamed would go on in the renamed one."""
    writer.close()
    monkeypatch.chdir(writer.directory / "network")

    with pytest.raises(OutputError, match="an unfinished recording is in the current folder"):
        BundleWriter(writer.directory)
