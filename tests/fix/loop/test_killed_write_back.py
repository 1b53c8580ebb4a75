"""Loops killed while they write the user's files: the next command rolls the changes back."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.errors import SessionError, WorkingTreeChangedError
from eikon_engine.fix import LoopOptions, debug_loop
from eikon_engine.fix.session import SessionRecord, lock_session
from eikon_engine.fix.user_tree import find_tree
from eikon_engine.fix.work_copy import copy_tree
from eikon_engine.fix.write_back import JOURNAL_FILE, recover, recover_all
from eikon_engine.llm import EchoClient
from tests.fix.loop.killing import SESSION, SHOP, kill_at_each
from tests.fix.loop.projects import write


def state(folder: Path) -> dict[str, object]:
    """Return files with their modes, and folders."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_mode, path.read_bytes() if path.is_file() else None)
        for path in folder.rglob("*")
    }


def note(folder: Path) -> SessionRecord:
    """Return the record of a session that is writing."""
    return SessionRecord(
        id="20260101T000000-abcdef",
        state="writing",
        begun_at=datetime(2026, 1, 1, tzinfo=UTC),
        tree=str(folder / SHOP),
        copy_root="",
        command="true",
        target_files=(),
        max_cycles=3,
        timeout_seconds=1,
        applier="blocks",
        keep=False,
        process=1,
    )


@dataclass(frozen=True)
class Workspace:
    """Folders in which writing a fix was killed."""

    before: dict[str, object]
    """The state of the project before the fix."""
    after: dict[str, object]
    killed: list[Path]
    """One folder for each change of a file before which a process was killed."""
    half: Path
    """A copy of a folder in which only some files were written."""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Write a fix that changes, creates and deletes files and modes, and kill it before each change."""
    folder = tmp_path_factory.mktemp("endings") / "start"
    shop = folder / SHOP
    write(shop, {"a.py": "old a\n", "gone/b.py": "old b\n", "run.sh": "old run\n", "same.py": "same\n"})
    (shop / "run.sh").chmod(0o750)
    copy = copy_tree(find_tree(shop), folder / SESSION)
    base = copy.store_state()
    write(copy.root, {"a.py": "new a\n", "new/deep/c.py": "new c\n"})
    (copy.root / "gone" / "b.py").unlink()
    (copy.root / "run.sh").chmod(0o640)
    after = copy.store_state()
    *killed, whole = kill_at_each("end", folder, base, after)
    half = next(each for each in killed if (each / SHOP / "new/deep/c.py").exists())
    shutil.copytree(half, folder.with_name("half"))
    return Workspace(before=state(shop), after=state(whole / SHOP), killed=killed, half=folder.with_name("half"))


def moved(folder: Path) -> Path:
    """Write the new path of a copied tree to its session."""
    (folder / SESSION / "session.json").write_text(note(folder).model_dump_json(), encoding="utf-8")
    return folder / SESSION


def test_a_kill_at_any_change_leaves_all_files_or_none(workspace: Workspace) -> None:
    """Wherever writing is killed, recovery leaves the tree either as before or completely fixed."""
    left = [state(each / SHOP) for each in workspace.killed]
    half = sum(each not in (workspace.before, workspace.after) for each in left)

    reported = [recover(moved(each)) for each in workspace.killed]

    for each, was in zip(workspace.killed, left, strict=True):
        assert state(each / SHOP) == (workspace.after if was == workspace.after else workspace.before)
        assert not (each / SESSION / JOURNAL_FILE).exists()
        assert recover(each / SESSION) is None
    assert half >= 5
    assert sum("rolled back" in str(each) for each in reported) >= half
    assert sum("was interrupted after its fix was completely written" in str(each) for each in reported) == 1


def test_a_killed_rollback_is_continued(workspace: Workspace) -> None:
    """A rollback that is killed before any of its changes is completed by the next one."""
    assert state(workspace.half / SHOP) not in (workspace.before, workspace.after)
    moved(workspace.half)

    *cut_off, whole = kill_at_each("settle", workspace.half)

    assert state(whole / SHOP) == workspace.before
    assert len(cut_off) >= 5
    for each in cut_off:
        recover(moved(each))
        assert state(each / SHOP) == workspace.before


def test_the_next_command_rolls_back_and_reports_it(
    workspace: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both a listing and a loop in that tree do; the loop starts with the restored files."""
    for name in ("listed", "looped"):
        shutil.copytree(workspace.half, tmp_path / name)
        sessions = moved(tmp_path / name).rename(tmp_path / name / "sessions-old")
        (tmp_path / name / "sessions").mkdir()
        sessions.rename(tmp_path / name / "sessions" / "20260101T000000-abcdef")
    reported: list[str] = []

    assert (
        run_command(eikon, ["fix", "sessions", "--sessions-dir", str(tmp_path / "listed" / "sessions")], "eikon") == 0
    )
    options = LoopOptions(
        test_cmd="true",
        cwd=tmp_path / "looped" / SHOP,
        sessions_dir=tmp_path / "looped" / "sessions",
        on_progress=reported.append,
    )
    debug_loop(options, client=EchoClient())

    out, err = capsys.readouterr()
    assert "20260101T000000-abcdef  rolled_back" in out
    for line in (err.splitlines()[0], reported[0]):
        assert line.startswith(
            "session 20260101T000000-abcdef was interrupted while it changed a.py, gone/b.py, new/deep/c.py"
        )
    assert state(tmp_path / "listed" / SHOP) == state(tmp_path / "looped" / SHOP) == workspace.before


@pytest.fixture
def half(workspace: Workspace, tmp_path: Path) -> Path:
    """Return a folder with a half-changed project and its session."""
    shutil.copytree(workspace.half, tmp_path / "half")
    moved(tmp_path / "half")
    return tmp_path / "half"


def test_files_that_changed_since_are_left_alone(half: Path) -> None:
    """If a file changed since, nothing is rolled back, the message explains what to do, and no loop starts there."""
    (half / SHOP / "run.sh").write_text("mine\n", encoding="utf-8")
    before = state(half / SHOP)

    with pytest.raises(
        WorkingTreeChangedError, match=r"run\.sh: expected the file as before or after the fix, got another"
    ):
        recover(half / SESSION)
    with pytest.raises(WorkingTreeChangedError, match=r"partly written\. Repair it manually"):
        debug_loop(LoopOptions(test_cmd="true", cwd=half / SHOP, sessions_dir=half), client=EchoClient())

    assert state(half / SHOP) == before
    assert len(recover_all(half)) == 1


@pytest.mark.parametrize("note_text", [None, "{}"])
def test_an_unreadable_session_does_not_stop_loops_in_other_trees(tmp_path: Path, note_text: str | None) -> None:
    """A warning names the folder to remove; it is kept, since its tree is unknown."""
    broken = tmp_path / "sessions" / "20200101T000000-aaaaaa"
    write(broken, {"ending.json": "{}"} | ({} if note_text is None else {"session.json": note_text}))
    write(tmp_path / "shop", {"a.py": "A = 1\n"})
    reported: list[str] = []

    options = LoopOptions(
        test_cmd="true", cwd=tmp_path / "shop", sessions_dir=tmp_path / "sessions", on_progress=reported.append
    )
    result = debug_loop(options, client=EchoClient())

    assert result.status == "COMPLETE"
    assert reported[0].startswith(f"warning: {broken} was interrupted while it changed a tree, and the tree is unknown")
    assert reported[0].endswith(f"remove {broken}.")
    assert (broken / "ending.json").exists()


def test_a_running_write_back_is_left_alone(half: Path) -> None:
    """Changes of a session that is still running are not rolled back."""
    before = state(half / SHOP)
    other = half / "other"
    with lock_session(other):
        (half / SESSION / JOURNAL_FILE).rename(other / JOURNAL_FILE)
        assert recover(other) is None
    assert state(half / SHOP) == before


@pytest.mark.parametrize("path", ["../away.py", "/etc/passwd"])
def test_a_journal_with_a_path_outside_the_tree_is_refused(half: Path, path: str) -> None:
    """The content of a session folder is validated like any other input."""
    ending = json.loads((half / SESSION / JOURNAL_FILE).read_text(encoding="utf-8"))
    ending["files"][0]["path"] = path
    (half / SESSION / JOURNAL_FILE).write_text(json.dumps(ending), encoding="utf-8")

    with pytest.raises(SessionError, match=r"cannot read the journal of an interrupted change:.*outside the tree"):
        recover(half / SESSION)
