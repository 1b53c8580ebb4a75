"""Detect what selector breakpoints stop at: changes of the elements that match."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.browser.inspection import find_matches_everywhere
from eikon_engine.errors import ActionError, BrowserDiedError, UsageError
from eikon_engine.files.text import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from eikon_engine.browser.inspection import SelectorMatches
    from eikon_engine.browser.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorState:
    """What a selector matches in all pages."""

    matches: tuple[SelectorMatches, ...] = ()
    """One per document."""
    failure: str | None = None
    """Why the selector could not be evaluated."""

    @property
    def count(self) -> int:
        """Return the number of matching elements."""
        return sum(each.count for each in self.matches)

    @property
    def digests(self) -> frozenset[tuple[int, str, str]]:
        """Return what must be equal for the matches to be unchanged."""
        return frozenset((each.page, each.frame, each.digest) for each in self.matches if each.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectorChange:
    """How a step changed what a selector matches."""

    before: int
    """Number of elements that matched before."""
    now: int
    failure: str | None = None
    """Why it is unknown."""

    def __str__(self) -> str:
        """Format for messages."""
        if self.failure is not None:
            return f"the matches could not be determined: {self.failure}"
        if self.before == self.now:
            return f"changed: still {pluralize(self.now, 'element')}, but different"
        if not self.before:
            return f"appeared: {pluralize(self.now, 'element')}"
        return f"changed: {pluralize(self.before, 'element')} before, {self.now or 'none'} now"


async def read_selectors(session: Session, selectors: Iterable[str]) -> Mapping[str, SelectorState]:
    """Evaluate selectors in all pages of a paused session; read-only.

    Raises:
        BrowserDiedError: the browser went away.
    """
    expected = tuple(selectors)
    seen = await asyncio.gather(*(_match_selector(session, selector) for selector in expected))
    return dict(zip(expected, seen, strict=True))


async def require_selector(session: Session, selector: str) -> SelectorState:
    """Check that the browser accepts a selector, and return its matches.

    Raises:
        UsageError: it is invalid, or cannot be evaluated.
        BrowserDiedError: the browser went away.
    """
    seen = await _match_selector(session, selector)
    if seen.failure is not None:
        message = f"selector: the browser rejects {selector!r} ({seen.failure})"
        raise UsageError(message, code="breakpoint")
    return seen


def find_changes(before: Mapping[str, SelectorState], now: Mapping[str, SelectorState]) -> Mapping[str, SelectorChange]:
    """Return the selectors whose matches changed; those that were not evaluated before have not changed."""
    return {
        selector: SelectorChange(before=before[selector].count, now=seen.count, failure=seen.failure)
        for selector, seen in now.items()
        if selector in before and (seen.failure is not None or seen.digests != before[selector].digests)
    }


async def _match_selector(session: Session, selector: str) -> SelectorState:
    try:
        return SelectorState(matches=await find_matches_everywhere(session, selector))
    except BrowserDiedError:
        raise
    except ActionError as error:
        return SelectorState(failure=session.redactor.redact_text(error.message))
