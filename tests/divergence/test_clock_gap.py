"""An age by the clock of the page, of what has the time of the server, is less than zero in a live replay."""

from __future__ import annotations

from datetime import timedelta

import pytest

from eikon_engine.divergence.clock_gap import ClockGap

HOUR = ClockGap(least=timedelta(seconds=3590), most=timedelta(seconds=3600))
SHORT = ClockGap(least=timedelta(seconds=4), most=timedelta(seconds=4))
LATE = ClockGap(least=timedelta(seconds=3590), most=timedelta(seconds=3600), waited=timedelta(seconds=30))


@pytest.mark.parametrize(
    ("gap", "recorded", "observed", "is_explained"),
    [
        (HOUR, "Opened 3 seconds ago", "Opened -3592 seconds ago", True),
        (HOUR, "3 s", "\u22123,597 s", True),
        (HOUR, "0.2 s", "-3599.8 s", True),
        (HOUR, "12 ms", "-3595000 ms", True),
        (HOUR, "1 hour", "-1 hours", True),
        (HOUR, "2 hours", "-1 hours", False),
        (HOUR, "0 h", "-1 h", True),
        (HOUR, "0 min, by ada", "-60 min, by ada", True),
        (LATE, "3 seconds", "-3565 seconds", True),
        (HOUR, "3 seconds", "-3565 seconds", False),
        (HOUR, "3 seconds", "-3620 seconds", False),
        (HOUR, "3 seconds", "3603 seconds", False),
        (HOUR, "3 seconds", "-3592 minutes", False),
        (HOUR, "3 items", "-3597 items", False),
        (HOUR, "3", "-3597", False),
        (HOUR, "Opened 3 seconds ago", "Closed -3597 seconds ago", False),
        (HOUR, "3 s, 7 s", "-3597 s, 9 s", False),
        (SHORT, "1 s", "-3 s", False),
        (SHORT, "-3 s", "-7 s", True),
        (SHORT, "-3 s", "-70 s", False),
    ],
)
def test_an_amount_of_time_is_less_by_the_gap(
    gap: ClockGap,
    recorded: str,
    observed: str,
    is_explained: bool,  # noqa: FBT001 - of the test
) -> None:
    """It has a unit and a sign, and all else is equal."""
    assert gap.makes_negative(recorded, observed) == is_explained


@pytest.mark.parametrize(
    ("gap", "recorded", "observed", "is_explained"),
    [
        (HOUR, "3", "-3597", True),
        (HOUR, "Age: 3", "Age: 3600", True),
        (HOUR, "3 s", "3603 s", True),
        (HOUR, "12", "3595012", True),
        (HOUR, "0", "60", True),
        (HOUR, "0", "1", False),
        (HOUR, "3", "4000", False),
        (HOUR, "3 items", "5 items", False),
        (HOUR, "open", "closed", False),
        (SHORT, "3", "7", False),
    ],
)
def test_a_number_that_changed_by_the_gap_is_explained(
    gap: ClockGap,
    recorded: str,
    observed: str,
    is_explained: bool,  # noqa: FBT001 - of the test
) -> None:
    """Whatever its unit is, the finding names the clocks."""
    assert bool(gap.explain(recorded, observed)) == is_explained
