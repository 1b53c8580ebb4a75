"""What clients and a session send each other: one JSON object per line, over a Unix socket that its user may open.

A client sends requests; the session answers each command with one `CommandResult` or `CommandError`, and sends every
event from the first command on.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, JsonValue, ValidationError
from pydantic_core import from_json

from eikon_engine.debug.commands import Command
from eikon_engine.errors import UsageError
from eikon_engine.files.models import DeferredAdapter, FileModel, validation_error
from eikon_engine.outcome.events import EventLine

MAX_REQUEST_BYTES: Final = 1 << 20
"""Longer requests are rejected."""


class CommandRequest(FileModel):
    """Execute a command."""

    id: str = Field(min_length=1, max_length=64)
    """Chosen by the client; the answer and the session's files name it."""
    command: Command


class FollowRequest(FileModel):
    """Send the events from now on."""

    follow: Literal[True] = True


class RedactRequest(FileModel):
    """Redact a line for the prompt's history."""

    text: str


Request: TypeAlias = CommandRequest | FollowRequest | RedactRequest


class EventMessage(FileModel):
    """An event of the session."""

    type: Literal["event"] = "event"
    iteration: int
    """Number of the step it belongs to."""
    line: EventLine


class CommandResult(FileModel):
    """A command was executed."""

    type: Literal["result"] = "result"
    id: str
    result: JsonValue
    """One of `eikon_engine.debug.results`."""


class CommandError(FileModel):
    """A command failed or was rejected; the session is unchanged."""

    type: Literal["error"] = "error"
    id: str | None
    """None for a request that is not valid."""
    code: str
    """Error code, see `docs/errors.md`."""
    message: str
    exit_status: int


class RedactedText(FileModel):
    """A line as it may be written to a file."""

    type: Literal["text"] = "text"
    text: str | None
    """None if it contains an unknown secret."""


class SessionEnded(FileModel):
    """The session ends; this is its last message."""

    type: Literal["end"] = "end"
    reason: str | None
    """Why it failed; None if a command or signal ended it."""


Message: TypeAlias = Annotated[
    EventMessage | CommandResult | CommandError | RedactedText | SessionEnded, Field(discriminator="type")
]
MESSAGE_ADAPTER: Final[DeferredAdapter[Message]] = DeferredAdapter(Message)


def parse_request(line: bytes) -> Request:
    """Parse one line of a client.

    Raises:
        UsageError: it is not a request.
    """
    try:
        fields = from_json(line)
    except ValueError as error:
        raise UsageError(f"expected one request as JSON, got {error}") from error
    kind: type[Request] = CommandRequest
    if isinstance(fields, dict):
        kind = FollowRequest if "follow" in fields else RedactRequest if "text" in fields else CommandRequest
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        raise UsageError(str(validation_error(error, line, "expected one request"))) from error


def to_line(message: FileModel) -> bytes:
    """Return a request or message as one line."""
    return message.model_dump_json().encode() + b"\n"
