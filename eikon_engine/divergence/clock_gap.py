"""Differences between the clock of a page and that of its server, which a live replay makes larger.

Pages of a live replay have the time of the recording, and their server has the present one. A page that subtracts a
time of its server from its own shows that gap: `0 seconds ago` has become `-3600 seconds ago` an hour later.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

CLOCK_GAP: Final = "The pages of a live replay have the time of the recording, their server has the present one"
"""How the explanation of a text with such a difference begins."""
_TOLERANCE: Final = timedelta(seconds=5)
"""How much a difference may be off, in addition to one unit of what is shown."""
_SHOWN_UNITS: Final = 10
"""How many of a unit the gap must be, for a number without a unit to be explained by it."""
_UNITS: Final = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
}
_NUMBER: Final = r"(?P<sign>[-\u2212]?)(?P<number>\d{1,3}(?:,\d{3})+|\d+)(?P<decimals>\.\d+)?"
_AMOUNT: Final = re.compile(
    rf"(?<![\w.,:]){_NUMBER}\s*(?P<unit>ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?)(?!\w)"
)
_BARE_AMOUNT: Final = re.compile(rf"(?<![\w.,:]){_NUMBER}(?![\w.,:])")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockGap:
    """How much further the clocks of page and server are apart than in the recording."""

    least: timedelta
    most: timedelta
    waited: timedelta = timedelta()
    """How much later the step is by the clock of the page."""

    def makes_negative(self, recorded: str, observed: str) -> bool:
        """Return whether two texts differ only in amounts of time that are less than zero now, because of the gap.

        Of one that was not so in the recording, the gap must be more than what it may be off.
        """
        pairs = _differing_pairs(_AMOUNT, recorded, observed)
        return bool(pairs) and all(self._is_behind(*pair) for pair in pairs)

    def _is_behind(self, recorded: re.Match[str], observed: re.Match[str]) -> bool:
        before, now = _unit(recorded), _unit(observed)
        grown = _read(observed) * now - _read(recorded) * before
        is_known = bool(recorded["sign"]) or self.least > _TOLERANCE
        return is_known and bool(observed["sign"]) and self._is_shrunk(grown, max(before, now))

    def _is_shrunk(self, grown: timedelta, unit: timedelta) -> bool:
        """Return whether an amount is less than recorded by the gap."""
        slack, none = _TOLERANCE + unit, timedelta()
        return min(none, self.waited) - self.most - slack <= grown <= max(none, self.waited) - self.least + slack

    def explain(self, recorded: str, observed: str) -> str:
        """Return why two texts may differ, and what to do, if numbers in them have changed by the gap; else ''."""
        pairs = _differing_pairs(_BARE_AMOUNT, recorded, observed) or _differing_pairs(_AMOUNT, recorded, observed)
        changes = [_read(now) - _read(before) for before, now in pairs]
        if not any(self._may_show(change) for change in changes):
            return ""
        return (
            f"{CLOCK_GAP}: a page that subtracts one from the other shows how long ago the recording was. "
            "Subtract two times of one clock, or leave the text out of comparisons (--ignore FILE, docs/policies.md)"
        )

    def _may_show(self, change: float) -> bool:
        """Return whether a number has changed by the gap, in a unit in which it would be noticed."""
        units = (unit for unit in _UNITS.values() if self.least >= _SHOWN_UNITS * unit and self.least > _TOLERANCE)
        return any(self._is_shrunk(-abs(change) * unit, unit) for unit in units)


def _differing_pairs(form: re.Pattern[str], recorded: str, observed: str) -> list[tuple[re.Match[str], re.Match[str]]]:
    """Return the amounts in which two texts differ; none if they differ in anything else."""
    ours, theirs = list(form.finditer(recorded)), list(form.finditer(observed))
    if len(ours) != len(theirs) or form.sub("", recorded) != form.sub("", observed):
        return []
    return [(one, other) for one, other in zip(ours, theirs, strict=True) if one[0] != other[0]]


def _unit(amount: re.Match[str]) -> timedelta:
    name = amount["unit"]
    return _UNITS["ms" if name.startswith(("ms", "mil")) else name[0]]


def _read(amount: re.Match[str]) -> float:
    number = float(amount["number"].replace(",", "") + (amount["decimals"] or ""))
    return -number if amount["sign"] else number
