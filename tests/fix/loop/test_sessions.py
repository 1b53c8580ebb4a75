"""Session folders: their location, and their listing by `eikon fix sessions`."""

from __future__ import annotations

from pathlib import Path

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.fix import debug_loop
from eikon_engine.fix.options import LoopOptions
from eikon_engine.fix.session import is_alive, lock_session, read_session, sessions_folder
from eikon_engine.llm import EchoClient


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "home/.local/state/eikon/fix"),
        ({"XDG_STATE_HOME": "/state"}, "/state/eikon/fix"),
        ({"XDG_STATE_HOME": "relative"}, "home/.local/state/eikon/fix"),
        ({"XDG_STATE_HOME": "/state", "EIKON_FIX_DIR": "/mine"}, "/mine"),
    ],
)
def test_sessions_are_stored_in_the_state_folder_of_the_user(environ: dict[str, str], expected: str) -> None:
    """EIKON_FIX_DIR takes precedence over XDG_STATE_HOME, which must be absolute."""
    assert sessions_folder(Path("home"), environ) == Path(expected)


def test_a_session_is_alive_as_long_as_its_process(tmp_path: Path) -> None:
    """A session is alive while its lock is held."""
    folder = tmp_path / "s"

    with lock_session(folder):
        assert is_alive(folder)
    assert not is_alive(folder)
    assert not is_alive(tmp_path / "none")
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(("earlier", "state"), [("taken_back", "rolled_back"), ("handed_over", "completed")])
def test_states_of_earlier_versions_are_read(tmp_path: Path, earlier: str, state: str) -> None:
    """A session written before two states were renamed is read with their new names."""
    (tmp_path / "shop").mkdir()
    options = LoopOptions(test_cmd="true", cwd=tmp_path / "shop", sessions_dir=tmp_path / "s")
    debug_loop(options, client=EchoClient())
    (folder,) = (tmp_path / "s").iterdir()
    text = (folder / "session.json").read_text(encoding="utf-8")
    assert '"state": "success"' in text

    (folder / "session.json").write_text(text.replace('"success"', f'"{earlier}"'), encoding="utf-8")

    assert read_session(folder).state == state


def test_sessions_are_listed_newest_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each line has name, state, step, tree and command."""
    (tmp_path / "shop").mkdir()
    for command in ("true", "no-such-test"):
        options = LoopOptions(test_cmd=command, cwd=tmp_path / "shop", sessions_dir=tmp_path / "s")
        debug_loop(options, client=EchoClient())
    first, second = sorted((tmp_path / "s").iterdir(), key=lambda each: each.stat().st_mtime)
    first.rename(tmp_path / "s" / "20260101T000000-aaaaaa")
    second.rename(tmp_path / "s" / "20260101T000001-aaaaaa")

    assert run_command(eikon, ["fix", "sessions", "--sessions-dir", str(tmp_path / "s")], "eikon") == 0

    tree = tmp_path / "shop"
    assert capsys.readouterr().out.splitlines() == [
        f"20260101T000001-aaaaaa  error        cycle 1  {tree}  no-such-test",
        f"20260101T000000-aaaaaa  success      cycle 1  {tree}  true",
    ]


def test_an_unreadable_session_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A manually written or truncated session is a one-line error with exit status 65."""
    path = tmp_path / "s" / "one" / "session.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"session_version": 2}', encoding="utf-8")

    assert run_command(eikon, ["fix", "sessions", "--sessions-dir", str(tmp_path / "s")], "eikon") == 65
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"eikon: {path}: invalid session of a debug loop at session_version: ")
