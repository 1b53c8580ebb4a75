"""Session start files are read completely, or refused in one line."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.trace.environment import parse_session_storage, parse_storage_state, revive_expired_cookies

NOW_S = 1_000.0


@given(st.dictionaries(st.sampled_from(["https://a.test", "http://b.test:81"]), st.dictionaries(st.text(), st.text())))
def test_a_session_storage_reads_back(storage: dict[str, dict[str, str]]) -> None:
    """A session storage survives a round trip, whatever its keys and values are."""
    assert parse_session_storage(json.dumps(storage).encode()) == storage


@pytest.mark.parametrize(
    "text",
    ["", "[]", "[" * 10_000, '{"https://a.test": []}', '{"https://a.test": {"a": null}}', '{"a.test": {}}', "\xff"],
)
def test_another_session_storage_is_refused_in_one_line(text: str) -> None:
    """Invalid JSON, another format, and a key other than an origin are refused."""
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z"):
        parse_session_storage(text.encode("latin-1"))


@pytest.mark.parametrize("text", ["", "7", "[]", "[" * 10_000, '{"cookies": {}}', '{"origins": "x"}'])
def test_another_storage_state_is_refused_in_one_line(text: str) -> None:
    """Invalid JSON, or missing lists of cookies and origins, are refused."""
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z"):
        parse_storage_state(text.encode())


@pytest.mark.parametrize(
    ("expires", "kept"), [(-1, -1), (0, -1), (999.5, -1), (NOW_S, -1), (1_000.5, 1_000.5), ("odd", "odd")]
)
def test_a_cookie_that_expired_lasts_as_long_as_the_session(expires: object, kept: object) -> None:
    """Expired cookies become session cookies; other cookies and data are unchanged."""
    state = {"cookies": [{"name": "seat", "expires": expires}], "origins": [1]}

    assert revive_expired_cookies(state, NOW_S) == {"cookies": [{"name": "seat", "expires": kept}], "origins": [1]}
