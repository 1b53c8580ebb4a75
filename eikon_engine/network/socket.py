"""What went over a WebSocket, message by message."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from eikon_engine.network.keys import canonical_url, request_key
from eikon_engine.network.moment import Moment
from eikon_engine.trace.blobs import BlobRef
from eikon_engine.trace.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

Side: TypeAlias = Literal["page", "server"]
METHOD = "WEBSOCKET"
"""What stands in the place of a method in the keys of sockets and of messages that a page sends."""
ABNORMAL = 1006
"""Close code of a connection that failed, or was lost (RFC 6455, section 7.1.5)."""
CODES: Final[Mapping[Side, range]] = MappingProxyType({"page": range(1000, 5000), "server": range(2**16)})
"""Close codes by who sends them. Servers can send any two bytes, and Chromium tells the page whatever they say."""
MESSAGE_TYPE: Final = "application/json"
"""What messages are taken for in their keys, so that those in JSON are canonical."""
INLINE_LIMIT = 4096
"""Texts of more bytes are kept as blobs."""


class SocketOpened(Record):
    """A page opened a socket."""

    kind: Literal["opened"] = "opened"
    socket: int = Field(ge=0)
    """Place in the order of opening."""
    url: str = Field(min_length=1)
    moment: Moment


class SocketAccepted(Record):
    """The server took the connection, and the page was told."""

    kind: Literal["accepted"] = "accepted"
    socket: int = Field(ge=0)
    protocol: str = ""
    """Subprotocol that the server chose."""
    extensions: str = ""
    moment: Moment


class SocketMessage(Record):
    """One message, in either direction."""

    kind: Literal["message"] = "message"
    socket: int = Field(ge=0)
    sender: Side
    binary: bool = False
    text: str | None = None
    """The message, where it is short and no binary one."""
    body: BlobRef | None = None
    """The message in the blobs of the network part, where it is long or binary."""
    moment: Moment

    @model_validator(mode="after")
    def _has_one_content(self) -> Self:
        if (self.text is None) == (self.body is None) or (self.binary and self.body is None):
            message = "give the message as text, or as a body in the blobs; a binary one as a body"
            raise ValueError(message)
        return self


class SocketClosed(Record):
    """One side closed the socket."""

    kind: Literal["closed"] = "closed"
    socket: int = Field(ge=0)
    closer: Side
    code: int | None = None
    """Close code of RFC 6455, section 7.4; None where none was given."""
    reason: str = ""
    moment: Moment

    @model_validator(mode="after")
    def _code_can_be_sent(self) -> Self:
        codes = CODES[self.closer]
        if self.code is not None and self.code not in codes:
            message = f"code is {self.code}; the {self.closer} closes with {codes.start} to {codes.stop - 1}, or null"
            raise ValueError(message)
        return self


SocketEvent: TypeAlias = Annotated[
    SocketOpened | SocketAccepted | SocketMessage | SocketClosed, Field(discriminator="kind")
]


def socket_key(url: str) -> str:
    """Give the key under which a socket is recorded and looked up."""
    return f"{METHOD} {canonical_url(url)}"


def close_key(url: str, code: int | None, reason: str) -> str:
    """Give the key of the end that a page makes of a socket."""
    return f"{socket_key(url)} closed {close_words(code, reason)}"


def close_words(code: int | None, reason: str) -> str:
    """Show a close code and its reason."""
    return f"{'without a code' if code is None else code}{f' {reason!r}' if reason else ''}"


def message_key(url: str, content: bytes) -> str:
    """Give the key of a message that a page sends; JSON is canonical in it, as in requests."""
    return request_key(METHOD, url, content, MESSAGE_TYPE)
