"""The socket of a session, as another program uses it."""

from __future__ import annotations

import json
import signal
import socket
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from eikon_engine.debug.client import SessionClient
from eikon_engine.debug.commands import Inspect, Pause
from eikon_engine.debug.protocol import MAX_REQUEST_BYTES, CommandError, parse_request
from eikon_engine.debug.session_folder import SessionFolder
from eikon_engine.errors import SessionEndedError, UsageError
from eikon_engine.files.locking import hold_lock
from tests.debug.conftest import DEADLINE_S, run_eikon
from tests.debug.test_bad_input import create_folder
from tests.until import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import FrameType

    from tests.debug.conftest import Session

STEP = b'{"id": "next", "command": {"type": "step"}}\n'


@contextmanager
def connected(folder: Path) -> Iterator[socket.socket]:
    """Connect to a session as any program can."""
    with closing(socket.socket(socket.AF_UNIX)) as client:
        client.settimeout(DEADLINE_S)
        client.connect(str((folder / "socket").readlink()))
        yield client


def exchange(folder: Path, data: bytes) -> list[Any]:
    """Send lines, and return all messages until the session closes the connection."""
    with connected(folder) as client:
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
        with client.makefile("rb") as messages:
            return [json.loads(line) for line in messages]


def commands(session: Session) -> list[Any]:
    """Return the logged commands."""
    return [json.loads(line) for line in (session.folder / "commands.jsonl").read_text().splitlines()]


@contextmanager
def silent_session(tmp_path: Path, *, last_words: bytes | None = None) -> Iterator[SessionFolder]:
    """Yield the folder of a session that answers nothing, or closes its first connection after `last_words`."""
    folder = create_folder(tmp_path, "s1")
    with hold_lock(folder.lock_path), closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        folder.socket_link.symlink_to(tmp_path / "s")
        if last_words is not None:
            threading.Thread(target=_close_next, args=(server, last_words), daemon=True).start()
        yield folder


def _close_next(server: socket.socket, last_words: bytes) -> None:
    with closing(server.accept()[0]) as client:
        client.makefile("rb").readline()
        client.sendall(last_words)


def test_a_command_is_answered_on_its_connection(at_start: Session) -> None:
    """Its events come first, numbered by step; the log has the command."""
    *before, last = exchange(at_start.folder, b'{"id": "abc", "command": {"type": "step", "count": 2}}\n')

    steps = [each["iteration"] for each in before if each["line"]["event"]["type"] in {"action", "skill"}]
    assert (steps, {each["type"] for each in before}) == ([1, 2], {"event"})
    assert (last["type"], last["id"], last["result"]["iteration"]) == ("result", "abc", 2)
    assert (commands(at_start)[-1]["id"], commands(at_start)[-1]["command"]["count"]) == ("abc", 2)


def test_commands_of_one_connection_are_executed_in_order(at_start: Session) -> None:
    """Each has its own answer; blank lines are ignored, and an incomplete last line is no request."""
    lines = b'\n{"id": "a", "command": {"type": "locate", "selector": "h1"}}\n' + STEP.replace(b"next", b"b")

    messages = exchange(at_start.folder, lines + STEP[:-1])

    logged = [each["id"] for each in commands(at_start)]
    assert sorted(each["id"] for each in messages if each["type"] == "result") == ["a", "b"]
    assert (logged[-2:], "next" in logged) == (["a", "b"], False)


def test_a_command_is_logged_before_it_is_executed(at_start: Session) -> None:
    """A client that leaves does not cancel it."""
    with connected(at_start.folder) as client:
        client.sendall(b'{"id": "gone", "command": {"type": "run_to", "iteration": 3}}\n')
    wait_until(lambda: commands(at_start)[-1]["id"] == "gone", "the command", DEADLINE_S)
    done = b'"type":"command_done","command_id":"gone"'
    wait_until(lambda: done in (at_start.folder / "events.jsonl").read_bytes(), "its result", DEADLINE_S)

    assert at_start.timeline()["branches"][0]["iteration"] == 3


def test_what_others_write_to_the_log_is_not_executed(at_start: Session) -> None:
    """The log is output only."""
    with (at_start.folder / "commands.jsonl").open("ab") as file:
        file.write(b'{"id":"x","at":"2026-01-23T12:00:00Z","command":{"type":"quit"}}\ngarbage')

    assert at_start.json("step")["iteration"] == 1
    (at_start.folder / "commands.jsonl").write_bytes(b"")
    assert at_start.json("step")["iteration"] == 2
    assert len(commands(at_start)) == 1


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b"resume", "expected one request as JSON, got"),
        (b"\xff\xfe", "expected one request as JSON, got"),
        (b"[]", "expected an object, got a list"),
        (b'{"command":{"type":"pause"}}', "id: this field is missing"),
        (b'{"id":"","command":{"type":"pause"}}', "id: expected"),
        (b'{"id":"a","command":{"type":"fly"}}', 'got the string "fly"'),
        (b'{"id":"a","command":{"type":"step","count":0}}', "1 or more"),
        (b'{"id":"a","command":{"type":"inspect","page":-1}}', "0 or more"),
        (b'{"id":"a","command":{"type":"pause"},"x":1}', "x: this field is unknown"),
        (b'{"follow":false}', "follow: expected"),
        (b"[" * 5000, "expected one request"),
    ],
)
def test_an_invalid_request_is_described(text: bytes, wanted: str) -> None:
    """The message names the field."""
    with pytest.raises(UsageError) as caught:
        parse_request(text)

    assert wanted in caught.value.message


def test_a_session_survives_invalid_requests(at_start: Session) -> None:
    """They are answered, leave no trace in the files, and the next request is executed."""
    logged = commands(at_start)

    rejected, *_, done = exchange(at_start.folder, b'{"id": 5, "command": "hush"}\n' + STEP)
    (too_long,) = exchange(at_start.folder, b"x" * (MAX_REQUEST_BYTES + 1) + b"\n")

    assert (rejected["type"], rejected["id"], rejected["code"], rejected["exit_status"]) == ("error", None, "usage", 2)
    assert "a line of more than" in too_long["message"]
    assert (done["id"], done["result"]["iteration"]) == ("next", 1)
    assert len(commands(at_start)) == len(logged) + 1
    assert b"hush" not in (at_start.folder / "events.jsonl").read_bytes()


def test_a_command_of_any_size_is_sent_or_rejected(at_start: Session) -> None:
    """A long one arrives whole; one that is too long is not sent."""
    fits, too_long = at_start("eval", f"'{'x' * 900_000}'.length"), at_start("eval", "x" * MAX_REQUEST_BYTES)

    assert (fits.out.splitlines()[0], too_long.status) == ("900000", 2)
    assert "expected a command of at most 1048576 bytes" in too_long.err


def test_page_commands_need_a_paused_session(at_start: Session) -> None:
    """A running session rejects switching and inspecting; a pause stops it before the next step."""
    other = b'{"id": "switch", "command": {"type": "branch_switch", "name": "main"}}\n'
    with connected(at_start.folder) as running:
        running.sendall(b'{"id": "go", "command": {"type": "resume"}}\n')
        with running.makefile("rb") as messages:
            while json.loads(messages.readline())["line"]["event"]["type"] != "resumed":
                pass
            rejected = exchange(at_start.folder, other)[-1]
            look = SessionClient(folder=SessionFolder(at_start.folder)).send(Inspect())
            paused = at_start.json("pause")
            resumed = [json.loads(line) for line in iter_until_result(messages)][-1]

    assert isinstance(look, CommandError)
    assert {rejected["code"], look.code} == {"session-busy"}
    assert "expected a paused session, but step" in rejected["message"]
    assert paused["reason"] == "user"
    assert resumed["result"] == paused
    assert 1 <= paused["iteration"] < 29


def iter_until_result(messages: Any) -> Iterator[bytes]:  # noqa: ANN401 - a buffered reader
    """Yield lines up to the first result."""
    for line in messages:
        yield line
        if json.loads(line)["type"] == "result":
            return


def test_the_socket_is_private(at_start: Session) -> None:
    """Only its user can open it; its path is short wherever the session is."""
    path = (at_start.folder / "socket").readlink()

    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert len(str(path)) < 100


def test_a_missing_response_is_reported(tmp_path: Path) -> None:
    """A client waits for its timeout."""
    with silent_session(tmp_path):
        output = run_eikon("debug", "pause", "--timeout", "0.05", "--sessions-dir", str(tmp_path))

    assert output.status == 69
    assert "did not respond within 0.05 s; the command stays queued" in output.err


def test_an_interrupted_client_reports_that_the_command_stays_queued(tmp_path: Path) -> None:
    """Ctrl-C ends the wait and revokes nothing."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with silent_session(tmp_path):
        before = signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        try:
            output = run_eikon("debug", "pause", "--sessions-dir", str(tmp_path))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    assert output.status == 130
    assert "stopped by the user while waiting for the response; the command stays queued" in output.err


@pytest.mark.parametrize("last_words", [b"", b'{"type":"event","iter'])
def test_a_closed_connection_is_reported(tmp_path: Path, last_words: bytes) -> None:
    """The session may still run: the client does not claim that it ended."""
    with silent_session(tmp_path, last_words=last_words) as folder, pytest.raises(SessionEndedError) as caught:
        SessionClient(folder=folder).send(Pause())

    assert "closed the connection before it responded; the command stays queued" in caught.value.message


def test_a_session_without_a_socket_is_reported(tmp_path: Path) -> None:
    """Clients wait a moment for one that is starting, and do nothing else."""
    folder = create_folder(tmp_path, "s1")
    with hold_lock(folder.lock_path):
        output = run_eikon("debug", "step", "--sessions-dir", str(tmp_path))

    assert (output.status, output.err.count("\n")) == (69, 1)
    assert "cannot connect to it" in output.err
    assert not folder.commands_path.exists()
