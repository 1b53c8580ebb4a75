"""The copy in which fixes are tried, and how its changes reach the user's tree."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from eikon_engine.errors import FixError, OutputError, UsageError, WorkingTreeChangedError
from eikon_engine.fix.user_tree import find_tree, require_clean, require_links_inside, require_targets, tree_files
from eikon_engine.fix.work_copy import WorkCopy, copy_tree
from eikon_engine.fix.write_back import write_back
from tests.error_codes import has_code
from tests.fix.loop.projects import PRICE_PROJECT, commit, everything, git, make_project, write


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Create a project with a program, an ignored file and a link."""
    folder = make_project(tmp_path / "shop", {**PRICE_PROJECT, ".gitignore": "*.log\ndata/\n", "run.sh": "#!/bin/sh\n"})
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("price.py")
    commit(folder)
    write(folder, {"noise.log": "noise", "data/big.csv": "1"})
    return folder


def copied(project: Path, *also: str) -> WorkCopy:
    """Copy a project."""
    return copy_tree(find_tree(project), project.parent / "session", also)


def test_a_copy_has_what_git_knows(project: Path) -> None:
    """Files, modes, links and the history are copied; ignored files are not, unless requested."""
    copy = copied(project, "data")

    assert sorted(each.name for each in copy.root.iterdir()) == sorted(
        [".git", ".gitignore", "data", "link", "price.py", "run.sh", "test_price.py"]
    )
    assert (copy.root / "run.sh").stat().st_mode & 0o111
    assert (copy.root / "link").is_symlink()
    assert git(copy.root, "status", "--porcelain") == ""
    assert git(copy.root, "log", "--format=%s") == "Begin\nBegin\n"


def test_a_copy_leaves_the_repository_alone(project: Path) -> None:
    """Creating, changing and removing a copy changes nothing in the user's folder, `.git` included."""
    before = everything(project)

    copy = copied(project)
    base = copy.store_state()
    (copy.root / "price.py").write_text("other\n", encoding="utf-8")
    copy.store_state()
    copy.restore(base)
    copy.remove()

    assert everything(project) == before
    assert list((project.parent / "session").iterdir()) == []


def test_a_stored_state_is_restored_completely(project: Path) -> None:
    """Changed, created and deleted files are restored, including ignored files and empty repositories of tests."""
    copy = copied(project, "data")
    base = copy.store_state()
    before = {name: data for name, data in everything(copy.root).items() if not name.startswith(".git/")}

    (copy.root / "price.py").write_text("x" * len(PRICE_PROJECT["price.py"]), encoding="utf-8")
    (copy.root / "run.sh").unlink()
    (copy.root / "data" / "big.csv").write_text("2", encoding="utf-8")
    write(copy.root, {"made.log": "", "__pycache__/price.pyc": "", "deep/er/file.txt": ""})
    make_project(copy.root / "nested", {"a.txt": "a"})
    copy.restore(base)

    assert {name: data for name, data in everything(copy.root).items() if not name.startswith(".git/")} == before
    assert copy.changes(base, copy.store_state()) == ()


def test_line_endings_are_not_converted(tmp_path: Path) -> None:
    """A file keeps its bytes, whatever its git attributes and configuration are."""
    folder = make_project(tmp_path / "shop", {".gitattributes": "* text=auto eol=lf\n"})
    (folder / "dos.txt").write_bytes(b"a\r\nb\r\n")
    commit(folder)

    copy = copied(folder)
    base = copy.store_state()
    (copy.root / "dos.txt").unlink()
    copy.restore(base)

    assert (copy.root / "dos.txt").read_bytes() == b"a\r\nb\r\n"


def test_all_changes_are_written_to_the_tree(project: Path) -> None:
    """Changed, new and deleted files are as in the copy, and permissions are kept."""
    (project / "run.sh").chmod(0o700)
    copy = copied(project)
    base = copy.store_state()
    (copy.root / "run.sh").write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    (copy.root / "test_price.py").unlink()
    write(copy.root, {"new/place.py": "x = 1\n"})
    after = copy.store_state()

    files = write_back(project, copy, copy.changes(base, after))

    assert files == ("new/place.py", "run.sh", "test_price.py")
    assert (project / "run.sh").read_text(encoding="utf-8") == "#!/bin/sh\nexit 0\n"
    assert (project / "run.sh").stat().st_mode & 0o777 == 0o700
    assert (project / "new" / "place.py").read_text(encoding="utf-8") == "x = 1\n"
    assert not (project / "test_price.py").exists()
    assert list(project.rglob("*.eikon")) == []


@pytest.mark.parametrize("how", ["changed", "deleted", "made", "linked"])
def test_a_tree_that_changed_since_is_left_alone(project: Path, how: str) -> None:
    """If one file differs from the copied state, nothing is written."""
    copy = copied(project)
    base = copy.store_state()
    write(copy.root, {"price.py": "fixed\n", "run.sh": "fixed\n", "new.py": "new\n"})
    after = copy.store_state()
    match how:
        case "changed":
            (project / "run.sh").write_text("mine\n", encoding="utf-8")
        case "deleted":
            (project / "run.sh").unlink()
        case "made":
            (project / "new.py").write_text("mine\n", encoding="utf-8")
        case _:
            (project / "run.sh").unlink()
            (project / "run.sh").symlink_to("price.py")
    before = everything(project)

    with pytest.raises(WorkingTreeChangedError, match=r"(run\.sh|new\.py): the file changed since the loop started"):
        write_back(project, copy, copy.changes(base, after))

    assert everything(project) == before


def test_a_failed_write_back_restores_everything(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If one file cannot be replaced, all others are restored, without temporary files."""
    copy = copied(project)
    base = copy.store_state()
    write(copy.root, {"a.py": "new\n", "new/deep/er.py": "new\n", "price.py": "fixed\n", "run.sh": "fixed\n"})
    (copy.root / "link").unlink()
    write(copy.root, {"test_price.py": "fixed\n"})
    changes = [each for each in copy.changes(base, copy.store_state()) if each.path != "link"]
    before = everything(project)
    rename = Path.replace

    def fail_at_last(self: Path, target: Path) -> Path:
        if target.name == "test_price.py":
            raise OSError(28, "No space left on device", str(target))
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", fail_at_last)
    with pytest.raises(
        OutputError,
        match=r"/test_price\.py: cannot write the fix: No space left on device\. No file was changed",
    ):
        write_back(project, copy, changes)

    assert everything(project) == before
    assert not (project / "new").exists()


def test_an_unreadable_file_is_an_error(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is one line, and nothing is changed."""
    copy = copied(project)
    base = copy.store_state()
    write(copy.root, {"price.py": "fixed\n"})

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(OutputError, match=r"/price\.py: cannot write the fix: Permission denied"):
        write_back(project, copy, copy.changes(base, copy.store_state()))


def test_symlinks_are_not_created(project: Path) -> None:
    """A fix that creates or changes a link is refused."""
    copy = copied(project)
    base = copy.store_state()
    (copy.root / "away").symlink_to("/etc/passwd")

    with pytest.raises(FixError, match="away: expected a change to a regular file", check=has_code("patch-rejected")):
        write_back(project, copy, copy.changes(base, copy.store_state()))


@pytest.mark.parametrize("text", ["{root}/data", "../shop/data", "../../{up}/shop/data", "data"])
def test_a_link_into_the_tree_leads_into_the_copy(project: Path, text: str) -> None:
    """Absolute and relative links into the tree are redirected, so that writes stay in the copy."""
    (project / "away").symlink_to(text.format(root=project, up=project.parent.name))
    before = everything(project)

    copy = copied(project, "data")
    (copy.root / "away" / "big.csv").write_text("changed", encoding="utf-8")

    assert everything(project) == before
    assert (copy.root / "data" / "big.csv").read_text(encoding="utf-8") == "changed"
    assert not (copy.root / "away").readlink().is_absolute()


@pytest.mark.parametrize("text", ["/etc", "../outside", "../../nowhere", "data/../../outside"])
def test_a_link_out_of_the_tree_is_refused(project: Path, text: str) -> None:
    """Tests could write through it, or its target may not exist; the message names the link."""
    (project.parent / "outside").mkdir()
    (project / "round").symlink_to(text)

    with pytest.raises(UsageError, match="round: expected a symlink that stays inside"):
        copied(project)
    with pytest.raises(UsageError, match="round: expected a symlink that stays inside"):
        require_links_inside(project, ("price.py", "round"))


def test_a_dirty_tree_is_refused(project: Path) -> None:
    """Changed and untracked files are named; ignored files and our own folders are not."""
    ours = project / "answers"
    write(ours, {"a.json": "{}"})
    tree = find_tree(project, (ours,))
    require_clean(tree)
    assert "answers/a.json" not in tree_files(tree)

    write(project, {"price.py": "changed\n", "unknown ü.txt": ""})

    with pytest.raises(
        UsageError, match=r"got changes in price\.py, unknown ü\.txt\. Commit them", check=has_code("dirty-tree")
    ):
        require_clean(tree)


def test_the_tree_is_found_from_within(project: Path) -> None:
    """A subfolder of a working tree belongs to it; a folder without git is its own tree."""
    (project / "data" / "deep").mkdir()

    tree = find_tree(project / "data" / "deep")
    assert (tree.root, tree.cwd, tree.is_git) == (project.resolve(), "data/deep", True)
    tree = find_tree(project.parent)
    assert (tree.root, tree.cwd, tree.is_git) == (project.parent.resolve(), ".", False)
    assert "shop/price.py" in tree_files(tree)
    with pytest.raises(UsageError, match="got a git folder"):
        find_tree(project / ".git" / "objects")


def test_a_repository_without_commits_is_copied(tmp_path: Path) -> None:
    """Uncommitted files are copied, with an empty history."""
    folder = tmp_path / "new"
    write(folder, {"a.py": "x = 1\n"})
    git(tmp_path, "init", "--quiet", "new")

    copy = copied(folder)

    assert (copy.root / "a.py").is_file()
    assert (copy.root / ".git").is_dir()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../other.py", "expected a path inside"),
        ("/etc/passwd", "expected a path inside"),
        (".git/config", "expected a path inside"),
        ("missing.py", "no such file: 'missing.py'"),
        ("data", "no such file: 'data'"),
    ],
)
def test_target_files_must_exist(project: Path, path: str, message: str) -> None:
    """A target file outside of the tree, or one that is not a file, is refused."""
    with pytest.raises(UsageError, match=f"--target-file: {message}"):
        require_targets(find_tree(project), (path,))


def test_sockets_and_pipes_of_tests_are_removed(project: Path) -> None:
    """Git ignores them, and the next run could not create them again."""
    copy = copied(project)
    base = copy.store_state()
    os.mkfifo(copy.root / "pipe")

    copy.restore(base)

    assert not (copy.root / "pipe").exists()


@pytest.mark.parametrize("is_linked", [False, True])
def test_a_copy_deleted_by_tests_is_an_error(project: Path, *, is_linked: bool) -> None:
    """No other folder is changed instead, even behind a link; stored states can still be compared."""
    copy = copied(project)
    base = copy.store_state()
    shutil.rmtree(copy.root)
    if is_linked:
        copy.root.symlink_to(project)
    before = everything(project)

    for do in (copy.store_state, lambda: copy.restore(base)):
        with pytest.raises(FixError, match="the tests deleted the copy they run in"):
            do()

    assert copy.changes(base, base) == ()
    assert everything(project) == before


def test_the_missing_target_file_is_named(project: Path) -> None:
    """It is named even if another target file is given twice."""
    with pytest.raises(UsageError, match="no such file: 'nope'"):
        require_targets(find_tree(project), ("price.py", "./price.py", "nope"))
