from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eikon_engine.errors import FixError, OutputError
from eikon_engine.fix.appliers.blocks import BlocksApplier
from eikon_engine.fix.appliers.edit_text import replace_lines
from eikon_engine.fix.appliers.file_changes import write_files
from eikon_engine.fix.models import ReplaceText, TextEdit, TextFix, UnifiedDiff
from tests.error_codes import has_code

CALC = "def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n"
ADD = ReplaceText(
    file="calc.py", search="def add(a, b):\n    return a - b\n", replace="def add(a, b):\n    return a + b\n"
)
NEW = ReplaceText(file="new/x.py", search="", replace="X = 1\n")


def test_a_fix_is_applied_and_returned_as_a_git_diff(tmp_path: Path) -> None:
    """Files are changed, created and deleted; git can apply the diff to the old tree."""
    before, after = (_tree(tmp_path / name) for name in ("before", "after"))
    remove = UnifiedDiff(text="--- a/old.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x = 1\n")

    application = BlocksApplier().apply(_fix(ADD, NEW, remove), after, ())
    subprocess.run(["git", "apply", "-"], input=application.diff.encode(), cwd=before, check=True)

    assert application.files == ("calc.py", "new/x.py", "old.py")
    assert application.diff.startswith("diff --git a/calc.py b/calc.py\n")
    assert "diff --git a/new/x.py b/new/x.py\nnew file mode 100644\n" in application.diff
    assert _contents(before) == _contents(after)
    assert "a + b" in (after / "calc.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "edit",
    [
        ReplaceText(file="calc.py", search="\n", replace="    return 0\n"),
        ReplaceText(file="calc.py", search="return a - b\n", replace="return 0\n"),
        ReplaceText(file="calc.py", search="def add(a, b): \n", replace="x\n"),
        ReplaceText(file="calc.py", search="", replace="x\n"),
        ReplaceText(file="missing.py", search="x\n", replace="y\n"),
        ReplaceText(file="../calc.py", search="", replace="y\n"),
        ReplaceText(file="calc.py", search="def add(a, b):\n", replace="def add(a, b):\n"),
        ReplaceText(file="picture.png", search="x\n", replace="y\n"),
        UnifiedDiff(text="--- /dev/null\n+++ b/calc.py\n@@ -0,0 +1 @@\n+x\n"),
        UnifiedDiff(text="--- a/old.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-x = 1\n-y = 2\n"),
        UnifiedDiff(text="--- a/calc.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-def add(a, b):\n"),
    ],
    ids=lambda edit: edit.model_dump_json()[:60],
)
def test_an_edit_that_does_not_match_changes_nothing(edit: TextEdit, tmp_path: Path) -> None:
    """If one edit matches nowhere or several times, no edit is applied."""
    tree = _tree(tmp_path / "tree")
    before = _contents(tree)

    with pytest.raises(FixError, check=has_code("patch-rejected")):
        BlocksApplier().apply(_fix(ADD, NEW, edit), tree, ())

    assert _contents(tree) == before


def test_git_must_accept_the_diff(tmp_path: Path) -> None:
    """A path that git rejects, because it means `.git` on Windows, is refused on every system."""
    tree = _tree(tmp_path)

    with pytest.raises(FixError, match="git cannot apply it: git apply", check=has_code("patch-rejected")):
        BlocksApplier().apply(_fix(ADD, ReplaceText(file="git~1/config", search="", replace="x\n")), tree, ())

    assert (tree / "calc.py").read_text(encoding="utf-8") == CALC


def test_edits_of_one_file_apply_in_order(tmp_path: Path) -> None:
    """The second edit applies to the result of the first one."""
    tree = _tree(tmp_path)
    second = ReplaceText(file="calc.py", search="    return a + b\n", replace="    return b + a\n")

    BlocksApplier().apply(_fix(ADD, second), tree, ("calc.py",))

    assert "b + a" in (tree / "calc.py").read_text(encoding="utf-8")


def test_edits_that_cancel_each_other_are_refused(tmp_path: Path) -> None:
    """A fix must change something."""
    back = ReplaceText(file="calc.py", search=ADD.replace, replace=ADD.search)

    with pytest.raises(FixError, match="the files already match", check=has_code("patch-rejected")):
        BlocksApplier().apply(_fix(ADD, back), _tree(tmp_path), ())


def test_an_answer_without_edits_is_refused(tmp_path: Path) -> None:
    """An answer that contains only prose cannot be applied."""
    with pytest.raises(FixError, check=has_code("patch-rejected")):
        BlocksApplier().apply(TextFix(text="words"), _tree(tmp_path), ())


def test_files_keep_modes_and_line_endings(tmp_path: Path) -> None:
    """Executable bits, CRLF, and a missing end of line at the end of a file are preserved."""
    path = tmp_path / "run.sh"
    path.write_bytes(b"one\r\ntwo")
    path.chmod(0o755)

    BlocksApplier().apply(_fix(ReplaceText(file="run.sh", search="two\n", replace="2\n3\n")), tmp_path, ("run.sh",))

    assert path.read_bytes() == b"one\r\n2\r\n3"
    assert path.stat().st_mode & 0o777 == 0o755


def test_files_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    """If the second file cannot be written, the first one is restored."""
    tree = _tree(tmp_path)
    before: dict[str, bytes | None] = {"calc.py": CALC.encode(), "calc.py/x": None}

    with pytest.raises(OutputError):
        write_files(tree, before, {"calc.py": b"changed", "calc.py/x": b"x"})

    assert (tree / "calc.py").read_text(encoding="utf-8") == CALC


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), min_size=1, max_size=3))
def test_lines_are_replaced_only_if_they_occur_once(lines: list[str], old: list[str]) -> None:
    """A unique match is replaced, and other lines are kept; otherwise the edit is refused."""
    text = "".join(f"{line}\n" for line in lines)
    places = [at for at in range(len(lines)) if lines[at : at + len(old)] == old]

    if len(places) == 1:
        expected = [*lines[: places[0]], "new", *lines[places[0] + len(old) :]]
        assert replace_lines(text, old, ["new"], "x").splitlines() == expected
    else:
        with pytest.raises(FixError, check=has_code("patch-rejected")):
            replace_lines(text, old, ["new"], "x")


def _fix(*edits: TextEdit) -> TextFix:
    return TextFix(text="", edits=edits)


def _tree(root: Path) -> Path:
    root.mkdir(exist_ok=True)
    (root / "calc.py").write_text(CALC, encoding="utf-8")
    (root / "old.py").write_text("x = 1\n", encoding="utf-8")
    (root / "picture.png").write_bytes(b"\x89PNG\xff")
    return root


def _contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
