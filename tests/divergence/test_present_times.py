"""Texts that differ only in the present time are the same; any other time is compared."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from eikon_engine.divergence.present_times import PresentTimes

RECORDED = datetime(2026, 3, 14, 23, 50, 2, tzinfo=UTC)
LATER = PresentTimes(recorded=RECORDED, observed=RECORDED + timedelta(days=40, hours=7))


@pytest.mark.parametrize(
    ("recorded", "observed"),
    [
        ("saved 2026-03-14T23:51:09Z", "saved 2026-04-24T06:51:30Z"),
        ("2026-03-15 00:51:09.123 by ada", "2026-04-24 07:51:08.9 by ada"),
        ("/timeline?from=2026-03-14T23%3A51%3A09Z&precision=s", "/timeline?from=2026-04-24T06%3A51%3A10Z&precision=s"),
        ("at 03/14/26 23:51:09", "at 04/24/26 06:51:30"),
        ("am 14.3.2026 23:51", "am 24.4.2026 06:52"),
        ("March 14, 2026, 11:51 p.m.", "April 24, 2026, 6:51 a.m."),
        ("Sat, 14 Mar 2026 23:51:09 GMT", "Fri, 24 Apr 2026 06:51:09 GMT"),
        ("2026-03-15T00:51:09+01:00", "2026-04-24T08:51:09+02:00"),
        ("v=1773532269&x", "v=1777013469&x"),
        ("1773532269123", "1777013469000"),
        ("on 2026-03-14", "on 2026-04-24"),
        ("posted 23:51", "posted 06:55"),
        ("at 11:51 PM", "at 6:55 AM"),
        ("3 seconds ago", "a few seconds ago"),
        ("1 minute ago by ada", "2 minutes ago by ada"),
        ("from 2026-03-14 23:51 to 2026-03-14 23:52", "from 2026-04-24 06:51 to 2026-04-24 06:52"),
    ],
)
def test_present_times_are_the_same(recorded: str, observed: str) -> None:
    """In each usual format, whatever time zone a page shows."""
    assert LATER.are_same(recorded, observed)


@pytest.mark.parametrize(
    ("recorded", "observed"),
    [
        ("saved 2026-03-14T23:51:09Z", "saved 2026-04-24T08:51:30Z"),
        ("saved 2026-03-14T23:51:09Z", "kept 2026-04-24T06:51:30Z"),
        ("born 1999-03-14 10:00", "born 1999-04-23 17:00"),
        ("on 2026-03-14", "on 2026-04-20"),
        ("due 2026-03-20", "due 2026-04-29"),
        ("2026-03-14 23:51", "2026-04-24T06:51"),
        ("2026-03-14 23:51", "2026-04-24 06:51, 2026-04-24 06:51"),
        ("price 17.50", "price 18.50"),
        ("opens 10:00", "opens 11:00"),
        ("opens 23:51", "opens 23:55"),
        ("3 seconds ago", "40 minutes ago"),
        ("3 days ago", "5 days ago"),
        ("v=1773532269&x", "v=1773532999&x"),
        ("2026-03-14 23:51", ""),
    ],
)
def test_other_times_are_compared(recorded: str, observed: str) -> None:
    """Another distance, date, format or text is a difference."""
    assert not LATER.are_same(recorded, observed)


def test_a_replay_that_follows_at_once_has_nearly_the_same_times() -> None:
    """A minute of difference is one of the run."""
    soon = PresentTimes(recorded=RECORDED, observed=RECORDED + timedelta(minutes=2))

    assert soon.are_same("2026-03-14 23:51", "2026-03-14 23:54")
    assert not soon.are_same("2026-03-14 23:51", "2026-03-15 01:54")
    assert not soon.are_same("due 2026-03-15", "due 2026-03-16")
