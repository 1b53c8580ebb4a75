from __future__ import annotations

import difflib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eikon_engine.errors import FixError
from eikon_engine.fix.appliers.edit_text import apply_hunks, read_diff
from tests.error_codes import has_code

TEXTS = st.lists(st.sampled_from(["a", "b", "", "- x", "+ y", "-- q", "@@", "    c"]), max_size=12).map(
    lambda lines: "".join(f"{line}\n" for line in lines)
)
ABC = "a\nb\nc\n"


@given(TEXTS, TEXTS)
def test_a_diff_turns_the_old_text_into_the_new_one(old: str, new: str) -> None:
    """Any diff that difflib writes between two texts can be read and applied exactly."""
    assume(old and new and old != new)
    (diff,) = read_diff(_diff(old, new))

    assert apply_hunks(old, diff) == new


@given(TEXTS, TEXTS, st.integers(1, 99))
def test_wrong_line_numbers_never_change_other_lines(old: str, new: str, shift: int) -> None:
    """If all lines are unique, a diff with wrong line numbers gives the same result."""
    assume(old and new and old != new)
    unique = "".join(f"{number} {line}" for number, line in enumerate(old.splitlines(keepends=True)))
    changed = unique + new
    (diff,) = read_diff(_diff(unique, changed).replace("@@ -", f"@@ -{shift}"))

    assert apply_hunks(unique, diff) == changed


@pytest.mark.parametrize(
    ("diff", "expected"),
    [
        ("@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nB\nc\n"),
        ("@@ -71,3 +99,1 @@ def f():\n a\n-b\n+B\n c\n", "a\nB\nc\n"),
        ("@@\n-b\n+B\n", "a\nB\nc\n"),
        ("@@ ... @@\n-b\n", "a\nc\n"),
        ("@@ -1 +1 @@\n-a\n+A\n@@ -3 +3 @@\n-c\n+C\n", "A\nb\nC\n"),
        ("@@ -3 +3 @@\n-c\n+c\n\\ No newline at end of file\n", None),
        ("@@ -2,2 +2,2 @@\n b\n-c\n+d\n\\ No newline at end of file\n", "a\nb\nd"),
        ("@@ -1 +1 @@\n-x\n+y\n", None),
        ("@@ -1,2 +1,2 @@\n a\n-B\n+x\n", None),
        ("@@ -2,0 +3 @@\n+x\n", None),
    ],
)
def test_lines_that_do_not_match_exactly_once_are_refused(diff: str, expected: str | None) -> None:
    """Line numbers may be wrong, but the lines themselves must match."""
    (read,) = read_diff(f"--- a/x\n+++ b/x\n{diff}")

    if expected is None:
        with pytest.raises(FixError, check=has_code("patch-rejected")):
            apply_hunks(ABC, read)
    else:
        assert apply_hunks(ABC, read) == expected


def test_repeated_lines_need_the_right_line_number() -> None:
    """If the old lines occur twice, the line number selects one; a wrong number is refused."""
    right, wrong = (read_diff(f"--- a/x\n+++ b/x\n@@ -{line} +{line} @@\n-a\n+b\n")[0] for line in (3, 2))

    assert apply_hunks("a\nx\na\n", right) == "a\nx\nb\n"
    with pytest.raises(FixError, match="2 at lines 1, 3", check=has_code("patch-rejected")):
        apply_hunks("a\nx\na\n", wrong)


def test_numbers_count_the_lines_of_the_old_text() -> None:
    """The offset of earlier hunks is taken into account."""
    (diff,) = read_diff("--- a/x\n+++ b/x\n@@ -1 +1,3 @@\n-x\n+1\n+2\n+3\n@@ -3 +5 @@\n-a\n+b\n")

    assert apply_hunks("x\na\na\n", diff) == "1\n2\n3\na\nb\n"


def test_an_end_of_line_that_a_diff_adds_is_added() -> None:
    """`No newline at end of file` after the old line only means that the new text ends with a newline."""
    (diff,) = read_diff("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n")

    assert apply_hunks("a", diff) == "b\n"


@pytest.mark.parametrize(
    "diff",
    [
        "",
        "--- a/x\n+++ b/x\n",
        "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
        "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
        "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
        "diff --git a/x b/x\nnew file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n",
        "diff --git a/x b/x\nGIT binary patch\nliteral 1\n",
        "prose\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n",
    ],
)
def test_changes_other_than_lines_are_refused(diff: str) -> None:
    """Renames, modes, links and binary files are not supported in fixes."""
    with pytest.raises(FixError, check=has_code("patch-rejected")):
        read_diff(diff)


def _diff(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), "a/x", "b/x", lineterm="")
    return "".join(f"{line}\n" for line in lines)
