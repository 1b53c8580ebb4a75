"""`eikon events`, as a user runs it, also while another process writes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from eikon_engine.cli.events import events_command
from eikon_engine.cli.shell import run_command
from eikon_engine.outcome.read_events import read_events
from tests.outcome.event_values import EVERY_KIND, lines, text_of

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "eikon_engine", "events")
TEXT = text_of(lines(*EVERY_KIND))
WRITER = """
import itertools, sys
from datetime import UTC, datetime
from pathlib import Path
from eikon_engine.outcome.event_log import EventLog
from eikon_engine.outcome.events import Note, RunStart

with EventLog(Path(sys.argv[1]), lambda: datetime.now(UTC)) as log:
    log.append(RunStart(kind="scenario_record", mission_id="m", mission_text=""))
    print("begun", flush=True)
    for number in itertools.count():
        log.append(Note(text=f"{number} " + "x" * 20_000))
"""


def run(*arguments: str | Path, given: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run `eikon events` in this process."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, check=False, cwd=ROOT, timeout=60, input=given
    )


def events_in(folder: Path, text: bytes = TEXT) -> Path:
    """Write an events file."""
    path = folder / "events.jsonl"
    path.write_bytes(text)
    return path


def test_each_event_is_one_line(tmp_path: Path) -> None:
    """A line has time, number, type and a summary; input is a folder, its file, or standard input."""
    path = events_in(tmp_path)

    of_file, of_folder, of_stream = run(path), run(tmp_path), run("-", given=TEXT)

    shown = of_file.stdout.decode().splitlines()
    assert (of_file.returncode, of_file.stderr) == (0, b"")
    assert len(shown) == len(EVERY_KIND)
    assert shown[4] == "03:04:09.000     5 action        001 click #go: ok, 40 ms"
    assert shown[10] == "03:04:15.000    11 tool_result   002 web_fetch, executed: failed: no route, 12 ms"
    assert of_folder.stdout == of_stream.stdout == of_file.stdout


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (("type=tool_call",), [8, 10]),
        (("tool=web_fetch",), [8, 9, 10, 11]),
        (("tool=web_fetch", "type=tool_result", "sequence=2"), [11]),
        (("passed=true",), [14]),
        (("passed=false",), []),
        (("subgoal=s", "sequence=1"), [3, 4, 5, 6, 8, 9]),
        (("action=click",), [3, 5]),
        (("skill=extract_table",), [7]),
        (("metric=summary", "source=live"), [12]),
        (("code=dom-changed",), [6]),
        (("how=complete",), [29]),
        (("gate=max_actions",), [14]),
    ],
)
def test_filters_are_joined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], filters: tuple[str, ...], found: list[int]
) -> None:
    """A line is printed if it matches all filters, and printed unchanged."""
    path = events_in(tmp_path)

    given = [str(path), "--json", *(part for text in filters for part in ("--filter", text))]
    status = run_command(events_command, given, "eikon events")

    whole = TEXT.decode().splitlines()
    assert status == 0
    assert capsys.readouterr().out.splitlines() == [whole[number - 1] for number in found]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tools=web_fetch", ("unknown field 'tools'", "tool, type")),
        ("type=action_end", ("got 'action_end'", "action_start, ")),
        ("passed=yes", ("true, false, null",)),
        ("sequence=first", ("a whole number",)),
        ("tool", ("FIELD=VALUE",)),
    ],
)
def test_an_unknown_filter_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: tuple[str, ...]
) -> None:
    """An unknown name is reported with the known ones."""
    status = run_command(events_command, [str(events_in(tmp_path)), "--filter", text], "eikon events")

    message = capsys.readouterr().err
    assert status == 2
    assert message.count("\n") == 1
    for word in words:
        assert word in message


def test_a_truncated_line_is_noted(tmp_path: Path) -> None:
    """A partial last line is skipped with a note; a malformed line is an error."""
    cut = run(events_in(tmp_path, TEXT[:-30]))
    broken = run(events_in(tmp_path, TEXT.replace(b'"type":"note"', b'"type":note')))
    missing = run(tmp_path / "nowhere.jsonl")

    assert cut.returncode == 0
    assert len(cut.stdout.splitlines()) == len(EVERY_KIND) - 1
    assert b"line 29 is truncated" in cut.stderr
    assert b"no run_end" in cut.stderr
    assert (broken.returncode, missing.returncode) == (65, 65)
    assert b"line 13, column" in broken.stderr
    assert b"No such file" in missing.stderr


def test_a_run_is_followed_while_it_is_written(tmp_path: Path) -> None:
    """Lines are printed once they are complete, from before the file exists until the run ends."""
    folder = tmp_path / "later"
    whole = TEXT.splitlines(keepends=True)
    with subprocess.Popen([*COMMAND, str(folder), "--follow", "--json"], stdout=subprocess.PIPE, cwd=ROOT) as followed:
        assert followed.stdout is not None
        folder.mkdir()
        with (folder / "events.jsonl").open("wb", buffering=0) as file:
            file.write(whole[0] + whole[1][:40])
            first = followed.stdout.readline()
            file.write(whole[1][40:])
            second = followed.stdout.readline()
            file.write(b"".join(whole[2:]))
        try:
            rest, _ = followed.communicate(timeout=30)
        finally:
            followed.kill()

    assert [first, second, rest] == [whole[0], whole[1], b"".join(whole[2:])]
    assert followed.returncode == 0


def test_following_ends_with_ctrl_c_and_with_another_run(tmp_path: Path) -> None:
    """Ctrl-C ends following; a new run in the same folder is not mistaken for the followed one."""
    path = events_in(tmp_path, TEXT.splitlines(keepends=True)[0])
    for stop in ("interrupt", "replace"):
        with subprocess.Popen(
            [*COMMAND, str(path), "--follow"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
        ) as followed:
            assert followed.stdout is not None
            followed.stdout.readline()
            if stop == "interrupt":
                followed.send_signal(signal.SIGINT)
            else:
                (tmp_path / "new").write_bytes(TEXT)
                (tmp_path / "new").replace(path)
            try:
                _, message = followed.communicate(timeout=30)
            finally:
                followed.kill()
        assert followed.returncode == (130 if stop == "interrupt" else 65)
        assert b"Traceback" not in message


def test_events_of_a_killed_process_are_read(tmp_path: Path) -> None:
    """A writer is killed while writing: every earlier line is read, also by a follower."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with subprocess.Popen(
            [*COMMAND, str(tmp_path), "--follow", "--json"], stdout=subprocess.PIPE, cwd=ROOT
        ) as followed:
            assert followed.stdout is not None
            seen = [followed.stdout.readline() for _ in range(20)]
            writer.send_signal(signal.SIGKILL)
            writer.wait(timeout=30)
            followed.kill()

    read = read_events(tmp_path / "events.jsonl")
    assert [json.loads(line)["sequence"] for line in seen] == list(range(1, 21))
    assert len(read.lines) >= 20
    assert not read.has_ended
