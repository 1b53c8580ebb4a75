"""What a person, a script or a damaged disk may give to a session."""

from __future__ import annotations

import json
import shutil
import signal
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.client import SessionClient
from eikon_engine.debug.command_file import MAX_LINE_BYTES, CommandReader, RejectedLine, append_command
from eikon_engine.debug.commands import BranchSwitch, Command, CommandLine, Inspect, Pause, Resume
from eikon_engine.debug.results import Position
from eikon_engine.debug.session_folder import (
    SessionFile,
    SessionFolder,
    create_session_folder,
    sessions_dir,
    write_session_file,
)
from eikon_engine.files.locking import hold_lock
from tests.debug.conftest import PASSING, TRACES, say, wait_for

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType

    from tests.debug.conftest import Session

NOW = datetime(2026, 1, 23, 12, tzinfo=UTC)


def made(parent: Path, name: str) -> SessionFolder:
    """Make the folder of a session that nobody runs."""
    folder = create_session_folder(parent, name)
    about = SessionFile(
        id=name,
        mission_id="m",
        mission_text="Mission",
        trace=str(PASSING),
        trace_id="t",
        started_at=NOW,
        ended_at=NOW,
        pid=1,
        headless=True,
        checkpoint_interval=5,
        keep_checkpoints=20,
        parked=2,
    )
    write_session_file(folder.session_path, about)
    return folder


def line(command: Command, name: str = "c1") -> bytes:
    """Return a line of the command file."""
    return CommandLine(id=name, at=NOW, command=command).model_dump_json().encode() + b"\n"


def test_an_unknown_session_is_told(tmp_path: Path) -> None:
    """With those that are there; and that there is none, where there is none."""
    none = say("debug", "step", "--sessions-dir", str(tmp_path))
    made(tmp_path, "s1")
    unknown = say("debug", "step", "--session", "s9", "--sessions-dir", str(tmp_path))
    no_source = say("debug", "start", "--from-session", "s9", "--sessions-dir", str(tmp_path))
    ended = say("debug", "step", "--sessions-dir", str(tmp_path))

    assert (none.status, "begin one with" in none.err) == (78, True)
    assert unknown.status == 78
    assert "--session s9: no such session, the latest are s1; run `eikon debug sessions`" in unknown.err
    assert no_source.status == 78
    assert "--from-session s9: no such session, the latest are s1; run `eikon debug sessions`" in no_source.err
    assert (ended.status, "s1 has ended" in ended.err) == (69, True)


def test_two_running_sessions_have_to_be_told_apart(tmp_path: Path) -> None:
    """Commands go to the only one that runs, and to none of two."""
    first, second = made(tmp_path, "s1"), made(tmp_path, "s2")
    with ExitStack() as running:
        running.enter_context(hold_lock(first.lock_path))
        running.enter_context(hold_lock(second.lock_path))

        said = say("debug", "pause", "--sessions-dir", str(tmp_path))

        assert (first.state(), second.state()) == ("running", "running")
    assert said.status == 2
    assert said.err == (
        "eikon: several sessions are running: s1 and s2; choose one with --session (code session-ambiguous)\n"
    )


def test_a_damaged_session_is_listed_all_the_same(tmp_path: Path) -> None:
    """It hides no other one."""
    made(tmp_path, "s1").session_path.write_text("{")
    made(tmp_path, "s2")

    said = say("debug", "sessions", "--sessions-dir", str(tmp_path))

    first, second = said.out.splitlines()
    assert (said.status, second.startswith("s2  ended")) == (0, True)
    assert first.startswith("s1  unreadable: ")


def test_a_session_without_its_file_is_listed_all_the_same(tmp_path: Path) -> None:
    """What is lost is told; a folder that was never one of a session is none."""
    folder = made(tmp_path, "s1")
    with hold_lock(folder.lock_path):
        folder.session_path.unlink()
    (tmp_path / "notes").mkdir()

    said = say("debug", "sessions", "--sessions-dir", str(tmp_path))

    (listed,) = said.out.splitlines()
    assert said.status == 0
    assert listed.startswith("s1  unreadable: ")
    assert "session.json: the session cannot be read (No such file" in listed


def test_an_answer_that_does_not_come_is_told(tmp_path: Path) -> None:
    """Whoever waits does so for as long as it was told to, or until the process is gone."""
    folder = made(tmp_path, "s1")
    folder.events_path.touch()
    with hold_lock(folder.lock_path):
        said = say("debug", "pause", "--timeout", "0.05", "--sessions-dir", str(tmp_path))

    assert said.status == 69
    assert "did not respond within 0.05 s" in said.err


def test_who_stops_waiting_is_told_that_the_command_stays(tmp_path: Path) -> None:
    """Ctrl-C ends the waiting, and takes nothing back."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    folder = made(tmp_path, "s1")
    folder.events_path.touch()
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with hold_lock(folder.lock_path):
            said = say("debug", "pause", "--sessions-dir", str(tmp_path))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert (said.status, '"pause"' in folder.commands_path.read_text()) == (130, True)
    assert "stopped by the user while waiting for the response; the command stays queued" in said.err


def test_the_folder_of_sessions_is_found() -> None:
    """The chosen one, then the environment, then the state folder of the user."""
    chosen = sessions_dir(None, {"EIKON_DEBUG_DIR": "/d", "XDG_STATE_HOME": "/x"})
    state = sessions_dir(None, {"XDG_STATE_HOME": "/x"})
    relative = sessions_dir(None, {"XDG_STATE_HOME": "x"})

    assert (str(chosen), str(state)) == ("/d", "/x/eikon/debug")
    assert relative.parts[-4:] == (".local", "state", "eikon", "debug")


def test_a_session_belongs_to_its_user_alone(tmp_path: Path) -> None:
    """Nobody else reads what pages showed."""
    folder = made(tmp_path / "parent", "s1")

    assert {path.stat().st_mode & 0o777 for path in (folder.root, folder.root.parent)} == {0o700}


def test_no_file_of_a_session_is_for_others(at_start: Session) -> None:
    """A copy of the folder shows nobody what pages showed."""
    at_start.good("step")
    at_start.good("checkpoint", "create")
    at_start.good("inspect")
    at_start.good("branch", "create", "private")

    below = tuple(at_start.folder.rglob("*"))
    assert {"session.json", "events.jsonl", "timeline.json", "trace.json", "inspections"} <= {
        each.name for each in below
    }
    assert [each for each in below if each.stat().st_mode & 0o077] == []


def test_commands_are_read_in_pieces() -> None:
    """Lines of any cut come whole; empty lines are nothing."""
    data = line(Pause(), "a") + b"\n" + line(Resume(), "b")
    reader = CommandReader()

    read = [each for start in range(0, len(data), 7) for each in reader.feed(data[start : start + 7])]

    assert [each.id for each in read if isinstance(each, CommandLine)] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b"resume", "expected one command as JSON, got"),
        (b"\xff\xfe", "expected one command as JSON, got"),
        (b'{"id":"a","at":"2026-01-23T12:00:00Z","command":{"type":"fly"}}', 'got the string "fly"'),
        (b'{"id":"a","at":"2026-01-23T12:00:00Z","command":{"type":"step","count":0}}', "1 or more"),
        (b'{"id":"a","at":"2026-01-23T12:00:00Z","command":{"type":"inspect","page":-1}}', "0 or more"),
        (b'{"id":"a","at":"2026-01-23T12:00:00Z","command":{"type":"pause"},"x":1}', "x: this field is unknown"),
        (b"[" * 5000, "expected one command"),
        (b"x" * (MAX_LINE_BYTES + 1), "a line of more than"),
    ],
)
def test_garbage_is_told_by_its_line_and_skipped(text: bytes, wanted: str) -> None:
    """What comes behind it is read."""
    reader = CommandReader()

    rejected, read = reader.feed(text + b"\n" + line(Pause(), "next"))

    assert isinstance(rejected, RejectedLine)
    assert (rejected.line, wanted in rejected.message) == (1, True), rejected.message
    assert isinstance(read, CommandLine)


def test_a_session_keeps_garbage_and_goes_on(at_start: Session) -> None:
    """The file stays as it was written, an event tells of the line, and the next command is carried out."""
    path = at_start.folder / "commands.jsonl"
    before = path.read_bytes()
    with path.open("ab") as file:
        file.write(b"garbage\n")

    stand = at_start.json("step")

    rejected = at_start.events("command_rejected")[-1]
    assert (stand["iteration"], rejected.line) == (1, before.count(b"\n") + 1)
    assert path.read_bytes().startswith(before + b"garbage\n")


def test_a_command_file_that_was_cut_is_told(at_start: Session) -> None:
    """Commands that come after that are carried out."""
    path = at_start.folder / "commands.jsonl"
    path.write_bytes(path.read_bytes()[:-10])
    wait_for(at_start.folder / "events.jsonl", "command_rejected", len(at_start.events("command_rejected")) + 1)

    assert at_start.json("step")["iteration"] == 1
    assert "file truncated from" in at_start.events("command_rejected")[-1].message


def test_what_needs_the_pages_waits_until_they_stand_still(at_start: Session) -> None:
    """While the session goes on, switching and inspecting are refused, and pausing stops it before the next step."""
    folder = SessionFolder(at_start.folder)
    with folder.commands_path.open("ab") as file:
        file.write(line(Resume(), "go") + line(BranchSwitch(name="main"), "switch") + line(Inspect(), "look"))

    answer = SessionClient(folder=folder).send(Pause())

    failed = {event.command_id: event for event in at_start.events("command_failed")}
    assert {failed[name].code for name in ("switch", "look")} == {"session-busy"}
    assert "expected a paused session, but step" in failed["switch"].message
    stand = Position.model_validate_json(json.dumps(answer.result))
    assert stand.reason == "user"
    assert 1 <= stand.iteration < 29


@pytest.mark.parametrize(
    ("words", "status", "wanted"),
    [
        ((), 2, "expected either --trace or --from-session"),
        (("--trace", str(PASSING), "--from-session", "s1"), 2, "got both"),
        (("--trace", "nowhere"), 65, "nowhere"),
        (("--trace", str(TRACES / "old_format")), 78, "needs a recorded network"),
        (("--trace", str(PASSING), "--break", "weather"), 2, "expected one of tool"),
        (("--trace", str(PASSING), "--session", "../up"), 2, "--session: expected up to 64 letters"),
        (("--trace", str(PASSING), "--var", "who=me"), 2, "who"),
        (("--trace", str(PASSING), "--browser-path", "/nowhere/chrome"), 69, "/nowhere/chrome"),
        (("--from-session", "s9"), 78, "no such session"),
    ],
)
def test_a_session_that_cannot_be_leaves_nothing(
    tmp_path: Path, words: tuple[str, ...], status: int, wanted: str
) -> None:
    """One line and the exit status of what is wrong; no folder is made."""
    said = say("debug", "start", *words, "--sessions-dir", str(tmp_path))

    assert said.status == status, said
    assert wanted in said.err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_sessions_that_cannot_be_is_told_before_a_browser_starts(tmp_path: Path) -> None:
    """One line that says what is in the way."""
    taken = tmp_path / "taken"
    taken.touch()
    no_browser = ("debug", "start", "--trace", str(PASSING), "--browser-path", "/nowhere/chrome")

    for folder in (taken, taken / "below"):
        said = say(*no_browser, "--sessions-dir", str(folder))
        assert (said.status, said.out) == (2, "")
        assert f"--sessions-dir {folder}: expected a folder, got the file {taken}; choose another" in said.err

    assert list(tmp_path.iterdir()) == [taken]


def test_who_acts_by_hand_wants_a_window(shop: Session) -> None:
    """Whoever has none has nothing to act in."""
    said = shop("branch", "record", "begin")

    assert said.status == 2
    assert "--no-headless" in said.err


def test_a_name_is_used_once(shop: Session) -> None:
    """The session that has it goes on undisturbed."""
    said = say("debug", "start", "--trace", str(PASSING), "--session", "s1", "--sessions-dir", str(shop.parent))

    assert said.status == 2
    assert said.err.startswith("eikon: --session s1: the id is taken by ")
    assert json.loads((shop.folder / "session.json").read_text())["pid"] == shop.process.pid


def test_a_bundle_with_a_damaged_file_is_told(tmp_path: Path) -> None:
    """What a replay would refuse, a session refuses."""
    bundle = tmp_path / "bundle"
    shutil.copytree(PASSING, bundle)
    blob = next((bundle / "dom").glob("*.zst"))
    blob.write_bytes(b"x")

    said = say("debug", "start", "--trace", str(bundle), "--sessions-dir", str(tmp_path / "sessions"))

    assert said.status == 65
    assert not (tmp_path / "sessions").exists()


def test_commands_cannot_be_appended_to_a_folder_that_is_gone(tmp_path: Path) -> None:
    """The error of an output says which file."""
    from eikon_engine.errors import OutputError

    with pytest.raises(OutputError, match=r"commands\.jsonl"):
        append_command(tmp_path / "commands.jsonl", CommandLine(id="a", at=NOW, command=Pause()))


def test_a_deadline_is_a_number(tmp_path: Path) -> None:
    """As for a replay: the option is the same one."""
    said = say("debug", "start", "--trace", str(PASSING), "--sessions-dir", str(tmp_path), "--timeout", "nan")

    assert said.status == 2
    assert "expected a number of seconds, got nan" in said.err
