"""Invalid input that users, scripts or damaged disks give a session."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from eikon_engine.debug.session_folder import (
    SessionFile,
    SessionFolder,
    create_session_folder,
    sessions_dir,
    write_session_file,
)
from eikon_engine.files.locking import hold_lock
from tests.debug.conftest import PASSING, TRACES, run_eikon

if TYPE_CHECKING:
    from pathlib import Path

    from tests.debug.conftest import Session

NOW = datetime(2026, 1, 23, 12, tzinfo=UTC)


def create_folder(parent: Path, name: str) -> SessionFolder:
    """Create the folder of a session that is not running."""
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


def test_an_unknown_session_is_reported(tmp_path: Path) -> None:
    """The message lists the existing sessions, or says that there are none."""
    none = run_eikon("debug", "step", "--sessions-dir", str(tmp_path))
    create_folder(tmp_path, "s1")
    unknown = run_eikon("debug", "step", "--session", "s9", "--sessions-dir", str(tmp_path))
    no_source = run_eikon("debug", "start", "--from-session", "s9", "--sessions-dir", str(tmp_path))
    ended = run_eikon("debug", "step", "--sessions-dir", str(tmp_path))

    assert (none.status, "no debug sessions; start one with" in none.err) == (78, True)
    assert unknown.status == 78
    assert "--session s9: no such session, the latest are s1; run `eikon debug sessions`" in unknown.err
    assert no_source.status == 78
    assert "--from-session s9: no such session, the latest are s1; run `eikon debug sessions`" in no_source.err
    assert (ended.status, "s1 has ended" in ended.err) == (69, True)


def test_commands_need_a_name_if_two_sessions_run(tmp_path: Path) -> None:
    """Without a name, a command goes to the only running session."""
    first, second = create_folder(tmp_path, "s1"), create_folder(tmp_path, "s2")
    with ExitStack() as running:
        running.enter_context(hold_lock(first.lock_path))
        running.enter_context(hold_lock(second.lock_path))

        output = run_eikon("debug", "pause", "--sessions-dir", str(tmp_path))

        assert (first.state(), second.state()) == ("running", "running")
    assert output.status == 2
    assert output.err == (
        "eikon: several sessions are running: s1 and s2; choose one with --session (code session-ambiguous)\n"
    )


def test_a_damaged_session_is_listed(tmp_path: Path) -> None:
    """It hides no other session."""
    create_folder(tmp_path, "s1").session_path.write_text("{")
    create_folder(tmp_path, "s2")

    output = run_eikon("debug", "sessions", "--sessions-dir", str(tmp_path))

    first, second = output.out.splitlines()
    assert (output.status, second.startswith("s2  ended")) == (0, True)
    assert first.startswith("s1  unreadable: ")


def test_a_session_without_its_file_is_listed(tmp_path: Path) -> None:
    """The damage is reported; a folder that never was a session is not listed."""
    folder = create_folder(tmp_path, "s1")
    with hold_lock(folder.lock_path):
        folder.session_path.unlink()
    (tmp_path / "notes").mkdir()

    output = run_eikon("debug", "sessions", "--sessions-dir", str(tmp_path))

    (listed,) = output.out.splitlines()
    assert output.status == 0
    assert listed.startswith("s1  unreadable: ")
    assert "session.json: the session cannot be read (No such file" in listed


def test_the_sessions_folder_is_resolved() -> None:
    """The option comes first, then the environment, then the user's state folder."""
    chosen = sessions_dir(None, {"EIKON_DEBUG_DIR": "/d", "XDG_STATE_HOME": "/x"})
    state = sessions_dir(None, {"XDG_STATE_HOME": "/x"})
    relative = sessions_dir(None, {"XDG_STATE_HOME": "x"})

    assert (str(chosen), str(state)) == ("/d", "/x/eikon/debug")
    assert relative.parts[-4:] == (".local", "state", "eikon", "debug")


def test_session_folders_are_private(tmp_path: Path) -> None:
    """Only their user can read what pages showed."""
    folder = create_folder(tmp_path / "parent", "s1")

    assert {path.stat().st_mode & 0o777 for path in (folder.root, folder.root.parent)} == {0o700}


def test_session_files_are_private(at_start: Session) -> None:
    """A copy of the folder stays private."""
    at_start.run("step")
    at_start.run("checkpoint", "create")
    at_start.run("inspect")
    at_start.run("branch", "create", "private")

    below = tuple(at_start.folder.rglob("*"))
    assert {"session.json", "events.jsonl", "timeline.json", "trace.json", "inspections"} <= {
        each.name for each in below
    }
    assert [each for each in below if each.stat().st_mode & 0o077] == []


@pytest.mark.parametrize(
    ("words", "status", "wanted"),
    [
        ((), 2, "expected either BUNDLE or --from-session"),
        (("--trace", str(PASSING), "--from-session", "s1"), 2, "got both"),
        (("--trace", "nowhere"), 65, "nowhere"),
        (("--trace", str(TRACES / "old_format")), 78, "needs a recorded network"),
        (("--trace", str(PASSING), "--break", "weather"), 2, "expected one of tool"),
        (("--trace", str(PASSING), "--session", "../up"), 2, "--session: expected up to 64 letters"),
        (("--trace", str(PASSING), "--var", "who=me"), 2, "who"),
        (("--trace", str(PASSING), "--browser-path", "/nowhere/chrome"), 69, "/nowhere/chrome"),
        (("--from-session", "s9"), 78, "no debug sessions"),
    ],
)
def test_a_session_that_cannot_start_leaves_no_files(
    tmp_path: Path, words: tuple[str, ...], status: int, wanted: str
) -> None:
    """The error is one line with its exit status, and no folder is created."""
    output = run_eikon("debug", "start", *words, "--sessions-dir", str(tmp_path))

    assert output.status == status, output
    assert wanted in output.err
    assert list(tmp_path.iterdir()) == []


def test_an_unusable_sessions_folder_is_reported_before_a_browser_starts(tmp_path: Path) -> None:
    """The message names the obstacle."""
    taken = tmp_path / "taken"
    taken.touch()
    no_browser = ("debug", "start", "--trace", str(PASSING), "--browser-path", "/nowhere/chrome")

    for folder in (taken, taken / "below"):
        output = run_eikon(*no_browser, "--sessions-dir", str(folder))
        assert (output.status, output.out) == (2, "")
        assert f"--sessions-dir {folder}: expected a folder, got the file {taken}; choose another" in output.err

    assert list(tmp_path.iterdir()) == [taken]


def test_interactive_recording_needs_a_window(shop: Session) -> None:
    """A headless session rejects it."""
    output = shop("branch", "record", "begin")

    assert output.status == 2
    assert "--headed" in output.err


def test_session_names_are_unique(shop: Session) -> None:
    """The running session with that name is not affected."""
    output = run_eikon("debug", "start", "--trace", str(PASSING), "--session", "s1", "--sessions-dir", str(shop.parent))

    assert output.status == 2
    assert output.err.startswith("eikon: --session s1: the id is taken by ")
    assert json.loads((shop.folder / "session.json").read_text())["pid"] == shop.process.pid


def test_a_damaged_bundle_is_rejected(tmp_path: Path) -> None:
    """A session requires the same intact files as a replay."""
    bundle = tmp_path / "bundle"
    shutil.copytree(PASSING, bundle)
    blob = next((bundle / "dom").glob("*.zst"))
    blob.write_bytes(b"x")

    output = run_eikon("debug", "start", "--trace", str(bundle), "--sessions-dir", str(tmp_path / "sessions"))

    assert output.status == 65
    assert not (tmp_path / "sessions").exists()


def test_the_timeout_must_be_a_number(tmp_path: Path) -> None:
    """The option is checked as for a replay."""
    output = run_eikon("debug", "start", "--trace", str(PASSING), "--sessions-dir", str(tmp_path), "--timeout", "nan")

    assert output.status == 2
    assert "expected a number of seconds, got nan" in output.err
