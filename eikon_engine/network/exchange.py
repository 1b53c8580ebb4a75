"""One request of a page with its redirects and its response or failure, and the moments of delivery."""

import re
from typing import Annotated, Final, Self, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from eikon_engine.files.blobs import BlobRef
from eikon_engine.files.models import FileModel
from eikon_engine.network.keys import BODY_MARK, canonical_method, canonical_url

_TOKEN: Final = re.compile(r":?[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token of RFC 9110, section 5.6.2, with the optional colon of HTTP/2 pseudo-headers (`:method`)."""
_FORBIDDEN: Final = re.compile(r"[\r\n\0]")
"""Characters that values must not contain (RFC 9110, section 5.5)."""
_JOINED_NAME: Final = "set-cookie"
"""Playwright joins repeated headers of this name into one value, one line each."""
_MAX_SHOWN: Final = 40


def validate_request_headers(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the headers of a request after validation.

    Raises:
        ValueError: a header is not valid in a request.
    """
    return _validate_headers(pairs, joined=False)


def validate_response_headers(pairs: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return the headers of a response after validation.

    Raises:
        ValueError: a header is not valid in a response.
    """
    return _validate_headers(pairs, joined=True)


def _validate_headers(pairs: tuple[tuple[str, str], ...], *, joined: bool) -> tuple[tuple[str, str], ...]:
    for name, value in pairs:
        fault = _header_fault(name, value, joined=joined)
        if fault is not None:
            raise ValueError(fault)
    return pairs


def _header_fault(name: str, value: str, *, joined: bool) -> str | None:
    """Describe what makes a header invalid; None if it is valid. `joined` allows several cookies, one per line."""
    if _TOKEN.fullmatch(name) is None:
        return f"invalid header name {name[:_MAX_SHOWN]!r}: expected a token of letters, digits and !#$%&'*+-.^_`|~"
    lines = value.replace("\n", "") if joined and name.lower() == _JOINED_NAME else value
    if _FORBIDDEN.search(lines) is not None:
        return f"invalid value {value[:_MAX_SHOWN]!r} of header {name}: expected no line breaks and no NUL"
    return None


PHASES_PER_ACTION: Final = 2
"""Number of phases of an action: during it, and after it."""
PHASES_PER_ACTION_WITH_LOOKUP: Final = 3
"""Number of phases of an action if resolving the target is a separate phase."""


class Moment(FileModel):
    """When a response, a chunk of one or a WebSocket event was delivered."""

    order: int = Field(ge=0)
    """Position in the order of all deliveries of the mission."""
    at_ms: int = Field(ge=0)
    """Page time since the start of the mission, in milliseconds."""
    phase: int = Field(ge=0)
    """Odd while an action is performed and observed (1 for the first), even between actions."""


HeaderPairs: TypeAlias = tuple[tuple[str, str], ...]
"""Header names and values as they were sent; names may repeat."""
RequestHeaders: TypeAlias = Annotated[HeaderPairs, AfterValidator(validate_request_headers)]
ResponseHeaders: TypeAlias = Annotated[HeaderPairs, AfterValidator(validate_response_headers)]
ABORTED_ERROR: Final = "net::ERR_ABORTED"
"""The browser's error for a cancelled request, or one that became a download."""
VALID_STATUSES: Final = range(100, 1000)
"""Valid three-digit statuses (RFC 9110, section 15)."""


def _validate_url(url: str) -> str:
    urlsplit(url)
    return url


Url: TypeAlias = Annotated[str, AfterValidator(_validate_url)]
"""A URL that a browser requested, so one that can be split into its parts."""


class Hop(FileModel):
    """One redirect response."""

    url: Url
    """URL that returned the redirect."""
    status: int = Field(ge=300, le=399)
    headers: ResponseHeaders = ()


class RecordedRequest(FileModel):
    """A request as the page sent it, before any redirect."""

    method: str = Field(min_length=1, pattern=r"^\S+$")
    url: Url = Field(min_length=1)
    headers: RequestHeaders = ()
    body: BlobRef | None = None
    resource_type: str
    """Playwright's resource type: `document`, `script`, `fetch` …"""
    is_navigation: bool
    frame: str = ""
    """Path of the requesting frame, as in observations; empty for the main frame."""


class RecordedResponse(FileModel):
    """The final response to a request, after all redirects."""

    url: Url
    status: int
    """Three-digit HTTP status; 0 for schemes without statuses."""
    status_text: str = ""
    headers: ResponseHeaders = ()
    body: BlobRef | None = None
    body_missing: str | None = None
    """Why the body could not be read; None if it was read or there is none."""

    @model_validator(mode="after")
    def _status_is_one_of_its_scheme(self) -> Self:
        if self.status in VALID_STATUSES or (self.status == 0 and not self.url.lower().startswith(("http:", "https:"))):
            return self
        message = f"expected a three-digit status, or 0 for a URL that is not HTTP, got {self.status}"
        raise ValueError(message)

    @model_validator(mode="after")
    def _body_is_there_or_missing(self) -> Self:
        if self.body is not None and self.body_missing is not None:
            message = f"body and body_missing ({self.body_missing}) are both set; set only one"
            raise ValueError(message)
        return self


class Piece(FileModel):
    """A chunk of a response body that was received separately, so that a page can read it before the rest."""

    length: int = Field(ge=0)
    """Number of bytes; 0 for the headers, which are received first."""
    moment: Moment


class Exchange(FileModel):
    """A request, its redirects, and its response or failure; neither if it was pending when the recording ended.

    Both are set if the body was interrupted after some chunks.
    """

    ordinal: int = Field(ge=0)
    """Position among the requests of the mission, in the order they were sent."""
    key: str
    """See `eikon_engine.network.keys`."""
    occurrence: int = Field(ge=0)
    """Number of earlier requests with the same key."""
    request: RecordedRequest
    hops: tuple[Hop, ...] = ()
    response: RecordedResponse | None = None
    failure: str | None = Field(default=None, min_length=1)
    """The browser's error, such as `net::ERR_ABORTED`."""
    started_ms: float = Field(allow_inf_nan=False)
    """Page time since the start of the mission, in milliseconds."""
    started_phase: int = Field(default=0, ge=0)
    """Phase in which the request was sent, see `Moment.phase`; 0 also if it is unknown."""
    completed_ms: float | None = Field(default=None, allow_inf_nan=False)
    """Page time of the last byte or the failure; None if the recording ended before."""
    completion: int | None = Field(default=None, ge=0)
    """Delivery order of the last byte or the failure, see `Moment.order`."""
    phase: int = Field(default=0, ge=0)
    """Phase of the last byte or the failure, see `Moment.phase`."""
    pieces: tuple[Piece, ...] = ()
    """Chunks of the body, if the page may have read them separately or requested something because of the first ones;
    empty if the body was received at once."""

    @property
    def moment(self) -> Moment | None:
        """Return when the exchange completed; None if it did not."""
        if self.completion is None or self.completed_ms is None:
            return None
        return Moment(order=self.completion, at_ms=max(0, round(self.completed_ms)), phase=self.phase)

    @property
    def is_pending(self) -> bool:
        """Return whether the recording ended before the response started."""
        return self.response is None and self.failure is None

    @property
    def is_cancelled(self) -> bool:
        """Return whether the request was cancelled, by the page or by a navigation away from it."""
        return self.response is None and self.failure == ABORTED_ERROR

    @property
    def blobs(self) -> tuple[BlobRef, ...]:
        """Return every blob that the exchange refers to."""
        response_body = self.response.body if self.response is not None else None
        return tuple(ref for ref in (self.request.body, response_body) if ref is not None)

    @model_validator(mode="after")
    def _has_one_end(self) -> Self:
        if self.response is not None and self.failure is not None and not self.pieces:
            message = f"response (status {self.response.status}) and failure ({self.failure}) are both set; set one"
            raise ValueError(message)
        if (self.completed_ms is None) != (self.completion is None):
            message = f"completed_ms is {self.completed_ms}, completion is {self.completion}; set both or neither"
            raise ValueError(message)
        if self.is_pending and self.completion is not None:
            message = f"completion is {self.completion}, but neither response nor failure is set; set one"
            raise ValueError(message)
        if self.pieces and self.response is None:
            message = f"{len(self.pieces)} pieces are set, but no response; set both"
            raise ValueError(message)
        body = self.response.body if self.response is not None else None
        if self.pieces and sum(piece.length for piece in self.pieces) != (body.size if body is not None else 0):
            message = "the lengths of the pieces do not add up to the size of the body"
            raise ValueError(message)
        if self.completed_ms is not None and self.completed_ms < self.started_ms:
            message = f"completed_ms {self.completed_ms} is before started_ms {self.started_ms}"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _redirects_lead_to_http(self) -> Self:
        if self.hops and self.response is not None and not self.response.url.lower().startswith(("http:", "https:")):
            message = f"expected redirects to end at an http or https URL, got {self.response.url[:_MAX_SHOWN]}"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _key_fits_the_request(self) -> Self:
        expected = f"{canonical_method(self.request.method)} {canonical_url(self.request.url)}"
        if self.key != expected and not self.key.startswith(expected + BODY_MARK):
            message = f"key {self.key!r} does not match its request; expected it to start with {expected!r}"
            raise ValueError(message)
        return self


SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods that do not change state: https://www.rfc-editor.org/rfc/rfc9110#section-9.2.1."""
REPEATABLE_METHODS: Final = SAFE_METHODS | {"PUT"}
"""Methods whose request has the same effect and response when it is repeated at once."""
FETCH_TYPES: Final = frozenset({"fetch", "xhr"})
"""Resource types of requests sent by scripts; the page scripts count them before Playwright reports them."""
CACHED_TYPES: Final = frozenset({"font", "image", "media", "script", "stylesheet", "texttrack"})
"""Resource types of requests that a browser may answer from its memory cache."""
REUSED_TYPES: Final = CACHED_TYPES - {"media", "texttrack"}
"""Those of which it keeps whole responses; media are requested in ranges."""
FRONT_END_TYPES: Final = CACHED_TYPES | {"document", "manifest"}
"""Resource types of what a front end consists of."""
PASSIVE_TYPES: Final = frozenset({"font", "image", "manifest", "media", "texttrack"})
"""Types of resources whose absence changes nothing else on a page. What Playwright calls `other`, and importers call so
if they do not know the type, may be anything."""
