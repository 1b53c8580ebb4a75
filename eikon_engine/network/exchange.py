"""One request of a page and what became of it."""

from __future__ import annotations

from typing import Annotated, Final, Self, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from eikon_engine.network.header_fields import possible_of_answer, possible_of_request
from eikon_engine.network.keys import BODY_MARK, canonical_method, canonical_url
from eikon_engine.network.moment import Moment
from eikon_engine.trace.blobs import BlobRef
from eikon_engine.trace.record import Record

HeaderPairs: TypeAlias = tuple[tuple[str, str], ...]
"""Header names and values as they were sent; a name may stand more than once."""
RequestHeaders: TypeAlias = Annotated[HeaderPairs, AfterValidator(possible_of_request)]
AnswerHeaders: TypeAlias = Annotated[HeaderPairs, AfterValidator(possible_of_answer)]
GIVEN_UP: Final = "net::ERR_ABORTED"
"""What the browser says of a request that its page, or a navigation, gave up."""
STATUSES: Final = range(100, 1000)
"""What three digits can say (RFC 9110, section 15)."""


class Hop(Record):
    """One redirect answer."""

    url: str
    """URL that was asked and answered with the redirect."""
    status: int = Field(ge=300, le=399)
    headers: AnswerHeaders = ()


class RecordedRequest(Record):
    """One request as the page issued it, before any redirect."""

    method: str = Field(min_length=1, pattern=r"^\S+$")
    url: str = Field(min_length=1)
    headers: RequestHeaders = ()
    body: BlobRef | None = None
    resource_type: str
    """Playwright's word for it: `document`, `script`, `fetch` …"""
    is_navigation: bool
    frame: str = ""
    """Path of the frame that asked, as in observations; empty for the main frame."""


class RecordedResponse(Record):
    """The last answer to a request, after all redirects."""

    url: str
    status: int
    """HTTP status, of three digits; 0 for a scheme that knows none."""
    status_text: str = ""
    headers: AnswerHeaders = ()
    body: BlobRef | None = None
    body_missing: str | None = None
    """Why the body could not be read; None when it was read, or there is none."""

    @model_validator(mode="after")
    def _status_is_one_of_its_scheme(self) -> Self:
        if self.status in STATUSES or (self.status == 0 and not self.url.lower().startswith(("http:", "https:"))):
            return self
        message = f"status is {self.status}; wanted one of three digits, or 0 for an address that is none of HTTP"
        raise ValueError(message)

    @model_validator(mode="after")
    def _body_is_there_or_missing(self) -> Self:
        if self.body is not None and self.body_missing is not None:
            message = f"body is given and also said to be missing ({self.body_missing}); keep one of the two"
            raise ValueError(message)
        return self


class Piece(Record):
    """A part of a body that came by itself: what a page reads while an answer is still on its way."""

    length: int = Field(ge=0)
    """Bytes of the body; 0 for the headers, which come first."""
    moment: Moment


class Exchange(Record):
    """A request, its redirects, and its answer or failure; neither of the two while it was still pending at the end.

    Both are there for a body that broke off after some pieces.
    """

    ordinal: int = Field(ge=0)
    """Place in the order in which the requests of the mission were issued."""
    key: str
    """See `eikon_engine.network.keys`."""
    occurrence: int = Field(ge=0)
    """Number of earlier requests with the same key."""
    request: RecordedRequest
    hops: tuple[Hop, ...] = ()
    response: RecordedResponse | None = None
    failure: str | None = Field(default=None, min_length=1)
    """The browser's word for what went wrong, such as `net::ERR_ABORTED`."""
    started_ms: float = Field(allow_inf_nan=False)
    """Page time since the mission began, in milliseconds."""
    completed_ms: float | None = Field(default=None, allow_inf_nan=False)
    """Page time when the last byte, or the failure, came; None if neither did before the recording ended."""
    completion: int | None = Field(default=None, ge=0)
    """Place of that in the order of everything that came, see `Moment.order`."""
    phase: int = Field(default=0, ge=0)
    """When that was, see `Moment.phase`."""
    pieces: tuple[Piece, ...] = ()
    """The body as it came, where a page may have read it piece by piece, or had asked for something because of its
    beginning; empty where it came as a whole."""

    @property
    def moment(self) -> Moment | None:
        """Return when the exchange ended; None if it did not."""
        if self.completion is None or self.completed_ms is None:
            return None
        return Moment(order=self.completion, at_ms=max(0, round(self.completed_ms)), phase=self.phase)

    @property
    def pending(self) -> bool:
        """Say whether the recording ended before an answer began."""
        return self.response is None and self.failure is None

    @property
    def blobs(self) -> tuple[BlobRef, ...]:
        """Name every blob the exchange refers to."""
        response_body = self.response.body if self.response is not None else None
        return tuple(ref for ref in (self.request.body, response_body) if ref is not None)

    @model_validator(mode="after")
    def _ends_in_one_way(self) -> Self:
        if self.response is not None and self.failure is not None and not self.pieces:
            message = f"response (status {self.response.status}) and failure ({self.failure}) are both given; keep one"
            raise ValueError(message)
        if (self.completed_ms is None) != (self.completion is None):
            message = f"completed_ms is {self.completed_ms} and completion {self.completion}; give both or neither"
            raise ValueError(message)
        if self.pending and self.completion is not None:
            message = f"completion is {self.completion}, but neither response nor failure is given; give one"
            raise ValueError(message)
        if self.pieces and self.response is None:
            message = f"{len(self.pieces)} pieces of a body are given, but no response; give both"
            raise ValueError(message)
        body = self.response.body if self.response is not None else None
        if self.pieces and sum(piece.length for piece in self.pieces) != (body.size if body is not None else 0):
            message = "the lengths of the pieces do not add up to the size of the body"
            raise ValueError(message)
        if self.completed_ms is not None and self.completed_ms < self.started_ms:
            message = f"completed_ms {self.completed_ms} lies before started_ms {self.started_ms}"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _key_fits_the_request(self) -> Self:
        expected = f"{canonical_method(self.request.method)} {canonical_url(self.request.url)}"
        if self.key != expected and not self.key.startswith(expected + BODY_MARK):
            message = f"key {self.key!r} is not the key of its request; it should begin with {expected!r}"
            raise ValueError(message)
        return self
