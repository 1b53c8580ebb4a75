"""Recorded WebSocket events: opening, messages and closing."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from eikon_engine.files.blobs import BlobRef
from eikon_engine.files.models import FileModel
from eikon_engine.network.exchange import Moment, Url
from eikon_engine.network.keys import canonical_url, request_key

SocketSide: TypeAlias = Literal["page", "server"]
SOCKET_METHOD = "WEBSOCKET"
"""Used as the method in the keys of WebSockets and of messages sent by the page."""
ABNORMAL_CLOSURE = 1006
"""Close code of a connection that failed or was lost (RFC 6455, section 7.1.5)."""
CLOSE_CODES: Final[Mapping[SocketSide, range]] = MappingProxyType({"page": range(1000, 5000), "server": range(2**16)})
"""Valid close codes by sender. Servers can send any two bytes, and Chromium passes them on to the page."""
MESSAGE_MEDIA_TYPE: Final = "application/json"
"""Media type assumed for messages in keys, so that JSON messages are canonical."""
INLINE_LIMIT = 4096
"""Larger texts, in bytes, are stored as blobs."""


class SocketOpened(FileModel):
    """A page opened a WebSocket."""

    kind: Literal["opened"] = "opened"
    socket: int = Field(ge=0)
    """Position in the order of opening."""
    url: Url = Field(min_length=1)
    moment: Moment


class SocketAccepted(FileModel):
    """The server accepted the connection, and the page received the open event."""

    kind: Literal["accepted"] = "accepted"
    socket: int = Field(ge=0)
    protocol: str = ""
    """Subprotocol selected by the server."""
    extensions: str = ""
    moment: Moment


class SocketMessage(FileModel):
    """One message, in either direction."""

    kind: Literal["message"] = "message"
    socket: int = Field(ge=0)
    sender: SocketSide
    binary: bool = False
    text: str | None = None
    """A short text message."""
    body: BlobRef | None = None
    """Blob of a long or binary message."""
    moment: Moment

    @model_validator(mode="after")
    def _has_one_content(self) -> Self:
        if (self.text is None) == (self.body is None) or (self.binary and self.body is None):
            message = "set either text or body; a binary message needs body"
            raise ValueError(message)
        return self


class SocketClosed(FileModel):
    """One side closed the WebSocket."""

    kind: Literal["closed"] = "closed"
    socket: int = Field(ge=0)
    closer: SocketSide
    code: int | None = None
    """Close code of RFC 6455, section 7.4; None if none was sent."""
    reason: str = ""
    moment: Moment

    @model_validator(mode="after")
    def _code_can_be_sent(self) -> Self:
        codes = CLOSE_CODES[self.closer]
        if self.code is not None and self.code not in codes:
            message = f"expected a close code of the {self.closer}, {codes.start} to {codes.stop - 1}, got {self.code}"
            raise ValueError(message)
        return self


SocketEvent: TypeAlias = Annotated[
    SocketOpened | SocketAccepted | SocketMessage | SocketClosed, Field(discriminator="kind")
]


def socket_key(url: str) -> str:
    """Return the key under which a WebSocket is recorded and looked up."""
    return f"{SOCKET_METHOD} {canonical_url(url)}"


def close_key(url: str, code: int | None, reason: str) -> str:
    """Return the key of a close sent by the page."""
    return f"{socket_key(url)} closed {describe_close(code, reason)}"


def describe_close(code: int | None, reason: str) -> str:
    """Format a close code and its reason."""
    return f"{'without a code' if code is None else code}{f' {reason!r}' if reason else ''}"


def message_key(url: str, content: bytes) -> str:
    """Return the key of a message sent by the page; JSON is canonical in it, as in requests."""
    return request_key(SOCKET_METHOD, url, content, MESSAGE_MEDIA_TYPE)
