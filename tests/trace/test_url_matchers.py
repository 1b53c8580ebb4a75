"""Patterns for URLs are checked when a trace is read, and match as Playwright matches."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.async_api import Error
from pydantic import ValidationError

from eikon_engine.browser.actions.conditions import matches_url
from eikon_engine.browser.playwright_internals import glob_matches
from eikon_engine.trace.actions import UrlMatcher


@pytest.mark.parametrize(
    ("syntax", "text", "message"),
    [
        ("regex", "[", "expected a regular expression, got '['"),
        ("regex", "a)", "expected a regular expression, got 'a)'"),
        ("glob", "https://a/{b", "expected a glob of Playwright, got 'https://a/{b'"),
        ("glob", "https://a/b}", "expected a glob of Playwright"),
        ("glob", "https://a/{b{c}}", "expected a glob of Playwright"),
    ],
)
def test_an_invalid_pattern_is_an_error_of_the_trace(syntax: str, text: str, message: str) -> None:
    """Otherwise the replay would end with a traceback at that wait."""
    with pytest.raises(ValidationError, match=re.escape(message)):
        UrlMatcher.model_validate({"syntax": syntax, "text": text})


@given(st.text(alphabet="a/{},*\\\n", max_size=9))
def test_the_globs_of_playwright_are_valid(glob: str) -> None:
    """Exactly those."""
    try:
        UrlMatcher(syntax="glob", text=glob)
    except ValidationError:
        with pytest.raises(Error, match="Invalid glob pattern"):
            glob_matches(glob, "https://a/")
    else:
        glob_matches(glob, "https://a/")


def test_flags_count_when_a_pattern_is_checked() -> None:
    """A comment of a verbose expression may contain anything."""
    matcher = UrlMatcher(syntax="regex", text="SHOP # (", flags="ix")

    assert matches_url(matcher, "https://shop.example/")
    assert not matches_url(matcher, "https://example/")


def test_references_in_a_glob_are_text() -> None:
    """The braces of a secret or of a variable are no group."""
    matcher = UrlMatcher(syntax="glob", text="https://a/{{eikon-secret:TOKEN}}/{b,c}/{{id}}")

    assert matches_url(matcher, "https://a/{{eikon-secret:TOKEN}}/c/{{id}}")
    assert not matches_url(matcher, "https://a/TOKEN/c/id")
