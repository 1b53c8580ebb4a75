"""Serve the front end of a deployment in a sealed session: documents, scripts, styles, images and fonts.

Everything else stays recorded. The browser has no network: what belongs to the front end is fetched by us, without
cookies and credentials, and served in the place of its recorded response. So nothing but such requests, all of them
GET, reaches the deployment, and the pages keep the recorded URLs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from eikon_engine.browser.traffic.live_responses import (
    LiveRequest,
    LiveResponder,
    LiveResponse,
    LiveResult,
    send_live_request,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from playwright.async_api import APIRequest, Request

    from eikon_engine.browser.session import Session
    from eikon_engine.network.exchange import Exchange
    from eikon_engine.network.front_end import FrontEndSource
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.trace.base_urls import BaseUrlMap

_PRIVATE_HEADERS: Final = frozenset({"authorization", "cookie", "if-modified-since", "if-none-match"})
"""Headers that are not sent: credentials, and conditions on a response that only the browser has."""
_TEXT_TYPES: Final = ("text/", "application/javascript", "application/json", "application/xml", "image/svg")
"""Content types of bodies in which the URLs of the deployment are replaced by recorded ones."""


class FrontEndResponder(LiveResponder):
    """Fetch what belongs to the front end; one per session."""

    def __init__(self, requests: APIRequest, recording: NetworkRecording, source: FrontEndSource) -> None:
        """Fetch with `requests` from `source`, and number responses after those of `recording`."""
        super().__init__(requests, recording)
        self._source = source
        self._keys = {each.key for each in recording.exchanges if source.includes(each)}

    def serves(self, request: Request) -> bool:
        """Whether a request is one for the front end: of a site that is deployed, and of such a kind."""
        return self._source.includes_request(request.method, request.url, request.resource_type)

    def is_key(self, key: str) -> bool:
        """Whether a recorded request for the front end has a key, as scripts may fetch their own document."""
        return key in self._keys

    def includes(self, exchange: Exchange) -> bool:
        """Whether a recorded request is one for the front end, which may not be sent again."""
        return self._source.includes(exchange)

    def in_place_of(self, recorded: Exchange, fetched: Exchange) -> Exchange:
        """Return what was fetched with the moment of the recorded exchange."""
        if fetched.ordinal in self._bodies:
            self._bodies[recorded.ordinal] = self._bodies.pop(fetched.ordinal)
        place = ("ordinal", "occurrence", "started_ms", "completed_ms", "completion", "phase")
        return fetched.model_copy(update={name: getattr(recorded, name) for name in place})

    async def _send(self, session: Session, request: Request) -> LiveResult:  # noqa: ARG002 - sends no secrets
        """Fetch from the deployment, and show the response as one of the recorded site."""
        to_new = self._source.urls.to_new.replace_text
        sent = LiveRequest(
            method=request.method,
            url=to_new(request.url),
            headers=_public_headers(request.headers, self._source.urls),
            body=None,
        )
        ended = await send_live_request(
            self._api_request,
            sent,
            [],
            timeout_ms=self._timeout_s * 1000,
            is_document=request.is_navigation_request(),
            may_follow=lambda url: self._is_deployed(url, request.resource_type),
        )
        return replace(
            ended,
            hops=tuple(map(self._as_recorded, ended.hops)),
            response=None if ended.response is None else self._as_recorded(ended.response),
        )

    def _is_deployed(self, url: str, resource_type: str) -> bool:
        """Whether a URL is one of the deployment, and not of the back end: a redirect may lead elsewhere."""
        urls = self._source.urls
        is_there = urls.to_old.pattern.match(url) is not None
        return is_there and self._source.includes_request("GET", urls.to_old.replace_text(url), resource_type)

    def _as_recorded(self, response: LiveResponse) -> LiveResponse:
        """Return a response with recorded URLs instead of those of the deployment."""
        to_old = self._source.urls.to_old
        is_text = response.header("content-type").startswith(_TEXT_TYPES)
        return replace(
            response,
            url=to_old.replace_text(response.url),
            headers=tuple((name, to_old.replace_text(value)) for name, value in response.headers),
            body=to_old.replace_bytes(response.body) if is_text else response.body,
        )


def _public_headers(headers: Mapping[str, str], urls: BaseUrlMap) -> dict[str, str]:
    public = {name.lower(): value for name, value in headers.items() if name.lower() not in _PRIVATE_HEADERS}
    return {name: urls.to_new.replace_text(value) for name, value in public.items()}
