"""A command file with a truncated line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.client import SessionClient
from eikon_engine.debug.command_file import CommandReader, RejectedLine, append_command
from eikon_engine.debug.commands import CommandLine, Pause
from eikon_engine.errors import SessionError
from eikon_engine.files.locking import hold_lock
from eikon_engine.outcome.debug_events import CommandRejected
from eikon_engine.outcome.event_log import EventLog
from tests.debug.test_bad_input import NOW, create_folder

if TYPE_CHECKING:
    from pathlib import Path

TORN = b'{"id":"torn'


def test_a_truncated_line_spoils_no_other_command(tmp_path: Path) -> None:
    """It is terminated before the next command."""
    path = tmp_path / "commands.jsonl"
    path.write_bytes(TORN)

    numbers = [append_command(path, CommandLine(id=name, at=NOW, command=Pause())) for name in ("a", "b")]

    rejected, *read = CommandReader().feed(path.read_bytes())
    assert isinstance(rejected, RejectedLine)
    assert rejected.line == 1
    assert [each.id for each in read if isinstance(each, CommandLine)] == ["a", "b"]
    assert numbers == [2, 3]


def test_the_client_of_a_rejected_line_reports_it(tmp_path: Path) -> None:
    """It does not wait for a response that cannot arrive."""
    folder = create_folder(tmp_path, "s1")
    folder.commands_path.write_bytes(TORN)

    with hold_lock(folder.lock_path), EventLog(folder.root, lambda: NOW) as log:
        client = SessionClient(folder=folder, new_id=lambda: _reject(log, 2))
        with pytest.raises(SessionError, match=r"pause: .*commands\.jsonl: line 2: no command; another process writes"):
            client.send(Pause(), timeout_s=20)


def _reject(log: EventLog, line: int) -> str:
    """Reject a line before it is written, which looks the same to its client."""
    log.append(CommandRejected(line=line, message="no command"))
    return "c1"
