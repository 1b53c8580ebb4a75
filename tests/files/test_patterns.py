"""Patterns match as in Python's `re`, and never for long."""

from __future__ import annotations

import re
import time
import warnings
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.errors import TooLargeError
from eikon_engine.files import patterns
from eikon_engine.files.patterns import find_matches, is_in_text, matches_whole

if TYPE_CHECKING:
    from collections.abc import Callable

PIECES = (
    "a", "b", "1", ".", "\\d", "\\w", "\\s", "\\b", "[ab]", "[^b]", "[[a]", "[a-c]", "{a}", "{,2}", "{2}", "{1,}",
    "(a|b)", "(?:ab)", "(?i:A)", "(?P<n>b)", "a{e}", "[[:alpha:]]", "\\[", "^", "$", "*", "+?", "|", " ", "é", "(?=b)",
)  # fmt: skip
TEXTS = st.text(alphabet="ab1[]:{},eE \né", max_size=12)


def compiled(source: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str] | None:
    """Compile with Python's `re`; None for what is no pattern there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return re.compile(source, flags)
        except re.error:
            return None


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join), TEXTS)
def test_a_pattern_matches_what_python_matches(source: str, text: str) -> None:
    """Also where `regex` has syntax of its own."""
    ours, dotted, folded = (compiled(source, flags) for flags in (re.NOFLAG, re.DOTALL, re.IGNORECASE))
    if ours is None or dotted is None or folded is None:
        return

    assert matches_whole(source, text) == (dotted.fullmatch(text) is not None)
    assert is_in_text(source, text, re.IGNORECASE) == (folded.search(text) is not None)
    assert [each.span() for each in find_matches(source, text)] == [each.span() for each in ours.finditer(text)]


@pytest.mark.parametrize("flags", [re.VERBOSE, re.VERBOSE | re.ASCII | re.MULTILINE | re.DOTALL])
def test_flags_have_their_meaning(flags: re.RegexFlag) -> None:
    """In a verbose pattern, spaces and comments have none."""
    assert is_in_text("^ a \\d  # a [b\n$", "x\na1\ny", flags) == (
        re.search("^ a \\d # \n$", "x\na1\ny", flags) is not None
    )
    assert matches_whole("(?x) a b # c", "ab")


@pytest.mark.parametrize("search", [matches_whole, is_in_text, lambda source, text: list(find_matches(source, text))])
def test_a_pattern_that_backtracks_is_an_error(
    search: Callable[[str, str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take years."""
    monkeypatch.setattr(patterns, "MATCH_TIMEOUT_S", 0.2)
    started = time.monotonic()

    with pytest.raises(TooLargeError, match=r"pattern '\(a\|a\)\*\$': expected a result within .* of 50 characters"):
        search("(a|a)*$", "a" * 49 + "b")

    assert time.monotonic() - started < 10
