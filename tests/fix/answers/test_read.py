from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.errors import FixError
from eikon_engine.fix.answers import DIVIDER, REPLACE, SEARCH, parse_answer
from eikon_engine.fix.models import NoFix, ReplaceText, TextEdit, TextFix, UnifiedDiff
from tests.error_codes import has_code

BLOCK = f"{SEARCH}\nreturn a - b\n{DIVIDER}\nreturn a + b\n{REPLACE}\n"
EDIT = ReplaceText(file="src/calc.py", search="return a - b\n", replace="return a + b\n")
DIFF = "--- a/calc.py\n+++ b/calc.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n-    return a - b\n+    return a + b\n"

LINES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), max_size=12).filter(
        lambda line: line.rstrip() not in {SEARCH, DIVIDER, REPLACE}
    ),
    max_size=5,
).map(lambda lines: "".join(f"{line}\n" for line in lines))
FILES = st.sampled_from(["a.py", "src/b c.py", "docs/é.md", "Makefile"])


@pytest.mark.parametrize(
    "answer",
    [
        f"src/calc.py\n{BLOCK}",
        f"It subtracts.\n\nsrc/calc.py\n```python\n{BLOCK}```\nThat is all.",
        f"```\nsrc/calc.py\n{BLOCK}```",
        f"**`src/calc.py`:**\n\n{BLOCK}",
        f"src/calc.py\n{BLOCK}".replace("\n", "\r\n"),
    ],
)
def test_a_block_is_parsed_with_any_text_around_it(answer: str) -> None:
    """The path precedes the block; fences and prose around it are ignored."""
    assert _edits(answer) == (EDIT,)


def test_blocks_without_a_path_belong_to_the_file_before() -> None:
    """Several blocks below one path change the same file."""
    assert _edits(f"src/calc.py\n{BLOCK}\n{BLOCK}") == (EDIT, EDIT)


@given(st.lists(st.builds(ReplaceText, file=FILES, search=LINES, replace=LINES), min_size=1, max_size=3))
def test_blocks_read_as_they_were_written(edits: list[ReplaceText]) -> None:
    """The content of a block is kept exactly, white space included."""
    assert _edits("\n".join(_block(each) for each in edits)) == tuple(edits)


@pytest.mark.parametrize("answer", [DIFF, f"Here:\n\n```diff\n{DIFF}```\nDone.", f"diff --git a/c b/c\n{DIFF}"])
def test_a_diff_is_read_with_and_without_a_fence(answer: str) -> None:
    """A diff begins with its file names, and ends at the first line that is not part of it."""
    (edit,) = _edits(answer)

    assert isinstance(edit, UnifiedDiff)
    assert edit.text.endswith(DIFF)
    assert "Done" not in edit.text


def test_a_diff_keeps_empty_lines_between_its_lines() -> None:
    """Models omit the space that marks an empty context line."""
    diff = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n"

    assert _edits(f"{diff}\nprose\n") == (UnifiedDiff(text=diff),)


def test_edits_are_in_the_order_of_the_answer() -> None:
    """Blocks and diffs may be mixed."""
    assert _edits(f"{DIFF}\nsrc/calc.py\n{BLOCK}") == (UnifiedDiff(text=DIFF), EDIT)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("NO FIX FOUND: the test is wrong", "the test is wrong"),
        ("**No fix found.** The test is wrong.", "The test is wrong."),
        ("no fix  found", "the model found no fix"),
        (f"NO FIX FOUND: only a guess\n\nsrc/calc.py\n{BLOCK}", "only a guess"),
        (f"NO FIX FOUND - a guess:\n\n{DIFF}", "a guess:"),
    ],
)
@pytest.mark.parametrize("needs_edits", [True, False])
def test_an_answer_without_a_fix_is_none(answer: str, reason: str, needs_edits: bool) -> None:  # noqa: FBT001 - a case
    """An answer that reports no fix is never applied, whatever else it contains."""
    assert parse_answer(answer, needs_edits=needs_edits) == NoFix(reason=reason)


def test_no_fix_found_inside_an_edit_is_code() -> None:
    """Only text outside of edits can report that there is no fix."""
    answer = f"a.py\n{SEARCH}\nx\n{DIVIDER}\nprint('no fix found')\n{REPLACE}\n"

    assert _edits(answer) == (ReplaceText(file="a.py", search="x\n", replace="print('no fix found')\n"),)


@pytest.mark.parametrize(
    ("answer", "reported"),
    [
        ("", "got nothing"),
        ("Change the minus to a plus.", "got 'Change the minus to a plus.'"),
        (BLOCK, "block at line 1: expected the path of a file above it, got none"),
        (f"a.py\n{SEARCH}\nx\n", f"expected {DIVIDER!r} below it, got the end of the answer"),
        (f"a.py\n{SEARCH}\nx\n{DIVIDER}\ny\n", f"expected {REPLACE!r} below it, got the end of the answer"),
        (f"a.py\n{SEARCH}\nx\n{REPLACE}\n", f"expected {DIVIDER!r} next, got {REPLACE!r} in line 4"),
        (f"a.py\n{SEARCH}\nTitle\n{DIVIDER}\n{DIVIDER}\n{REPLACE}\n", f"expected {REPLACE!r} next, got {DIVIDER!r}"),
        (f"a.py\n{REPLACE}\n", f"expected {SEARCH!r} and {DIVIDER!r} above it, got none"),
        (f"the <script> | below\n{BLOCK}", "expected the path of a file above it, got 'the <script> | below'"),
    ],
)
def test_an_unreadable_answer_is_an_error_with_its_line(answer: str, reported: str) -> None:
    """An answer without a readable fix is rejected with a one-line message."""
    with pytest.raises(FixError, check=has_code("proposal-malformed")) as refused:
        parse_answer(answer, needs_edits=True)

    assert reported in refused.value.message
    assert "\n" not in refused.value.message


def test_an_applier_that_parses_answers_itself_gets_any_text() -> None:
    """An answer without edits is a fix if the applier parses prose itself."""
    assert parse_answer("Swap them.", needs_edits=False) == TextFix(text="Swap them.")


@given(st.text(st.sampled_from("a.py\n<=>-+@ ") | st.just("\\"), max_size=60))
def test_any_answer_is_parsed_or_refused(text: str) -> None:
    """No answer of a model causes an internal error."""
    with suppress(FixError):
        assert parse_answer(text, needs_edits=True).kind in {"text", "none"}


def _block(edit: ReplaceText) -> str:
    return f"{edit.file}\n{SEARCH}\n{edit.search}{DIVIDER}\n{edit.replace}{REPLACE}\n"


def _edits(answer: str) -> tuple[TextEdit, ...]:
    fix = parse_answer(answer, needs_edits=True)
    assert isinstance(fix, TextFix)
    return fix.edits
