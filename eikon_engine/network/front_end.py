"""What of a mission belongs to the front end of a site, and what to its back end."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from eikon_engine.network.exchange import FRONT_END_TYPES

if TYPE_CHECKING:
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.trace.base_urls import BaseUrlMap


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontEndPatterns:
    """Patterns of URLs, with `*` and `?`, that move the line between both."""

    front_end: tuple[str, ...] = ()
    """Belong to the front end, such as a JSON file of the build; only requests that read."""
    back_end: tuple[str, ...] = ()
    """Belong to the back end, such as images that users uploaded; these win."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontEndSource:
    """Where the front end comes from, and what belongs to it."""

    urls: BaseUrlMap
    """Recorded base URLs, and those of the deployment."""
    patterns: FrontEndPatterns = FrontEndPatterns()

    def includes(self, exchange: Exchange) -> bool:
        """Return whether a recorded request is one for the front end."""
        request = exchange.request
        return self.includes_request(request.method, request.url, request.resource_type)

    def includes_request(self, method: str, url: str, resource_type: str) -> bool:
        """Return whether a request of a recorded URL is one for the front end: one that reads, from a deployed site."""
        if method != "GET" or self.urls.to_new.pattern.match(url) is None:
            return False
        if any(_fits(url, each) for each in self.patterns.back_end):
            return False
        return resource_type in FRONT_END_TYPES or any(_fits(url, each) for each in self.patterns.front_end)


def _fits(url: str, pattern: str) -> bool:
    return fnmatchcase(url, pattern.replace("[", "[[]"))
