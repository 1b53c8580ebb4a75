"""See what breakpoints on selectors stop at: something matches now, or what matches has changed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.browser.matches import matches_anywhere
from eikon_engine.errors import ActionError, BreakpointError, BrowserDiedError
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eikon_engine.browser.matches import Matches
    from eikon_engine.browser.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What one selector matches in all pages."""

    matches: tuple[Matches, ...] = ()
    """One for each document."""
    failure: str | None = None
    """Why it could not be looked for."""

    @property
    def count(self) -> int:
        """Return how many elements match."""
        return sum(each.count for each in self.matches)

    @property
    def digests(self) -> frozenset[tuple[int, str, str]]:
        """Return what another sighting has to have for nothing to have changed."""
        return frozenset((each.page, each.frame, each.digest) for each in self.matches if each.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """What a step did to what a selector matches."""

    before: int
    """How many elements matched."""
    now: int
    failure: str | None = None
    """Why nobody can tell."""

    def __str__(self) -> str:
        """Read as what happened."""
        if self.failure is not None:
            return f"what matches could not be looked at: {self.failure}"
        if self.before == self.now:
            return f"changed: {counted(self.now, 'element')} as before, not as they were"
        if not self.before:
            return f"appeared: {counted(self.now, 'element')}"
        return f"changed: {counted(self.before, 'element')} before, {self.now or 'none'} now"


async def look_for(session: Session, selectors: Iterable[str]) -> Mapping[str, Sighting]:
    """Look for selectors in all pages of a session that stands still; nothing is done to them.

    Raises:
        BrowserDiedError: the browser went away.
    """
    asked = tuple(selectors)
    seen = await asyncio.gather(*(_look(session, selector) for selector in asked))
    return dict(zip(asked, seen, strict=True))


async def demand_selector(session: Session, selector: str) -> Sighting:
    """Make sure that the browser can read a selector, and see what it matches now.

    Raises:
        BreakpointError: it cannot be read, or looked for.
        BrowserDiedError: the browser went away.
    """
    seen = await _look(session, selector)
    if seen.failure is not None:
        message = f"selector: wanted one that the browser can read, found {selector!r} ({seen.failure})"
        raise BreakpointError(message)
    return seen


def changes(before: Mapping[str, Sighting], now: Mapping[str, Sighting]) -> Mapping[str, Changed]:
    """Return the selectors that match something else now; those that were not looked for before have not changed."""
    return {
        selector: Changed(before=before[selector].count, now=seen.count, failure=seen.failure)
        for selector, seen in now.items()
        if selector in before and (seen.failure is not None or seen.digests != before[selector].digests)
    }


async def _look(session: Session, selector: str) -> Sighting:
    try:
        return Sighting(matches=await matches_anywhere(session, selector))
    except BrowserDiedError:
        raise
    except ActionError as error:
        return Sighting(failure=session.redactor.text(error.message))
