"""One recorded response: content, key, name of its file, and the error of a recorded failure."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, Self, TypeAlias

from pydantic import Field, ValidationError, model_validator
from pydantic_core import from_json

from eikon_engine.errors import CompletionError, CompletionUnreachableError, ResponseCorruptError
from eikon_engine.files.models import MAX_FAULTS, FileModel, FiniteJson, describe_value, validation_error
from eikon_engine.llm.completion import (
    DIGITS_SHOWN,
    Completion,
    CompletionRequest,
    Message,
    file_name_digest,
    prompt_digest,
)
from eikon_engine.outcome.terminal import escape_control_characters
from eikon_engine.trace.execution import TokenUsage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMPLETION_CODES: Final = frozenset({CompletionError.code, *CompletionError.codes, CompletionUnreachableError.code})
"""Codes of failed completions that a response file may contain."""


def error_from_code(code: str, message: str) -> CompletionError:
    """Create the error of a recorded failure."""
    if code in CompletionError.codes:
        return CompletionError(message, code=code)
    return CompletionUnreachableError(message) if code == CompletionUnreachableError.code else CompletionError(message)


def code_for_error(error: CompletionError) -> str:
    """Return the code a failure is recorded under; of an error of another library, that of its base class here."""
    if error.code in COMPLETION_CODES:
        return error.code
    is_unreachable = isinstance(error, CompletionUnreachableError)
    return CompletionUnreachableError.code if is_unreachable else CompletionError.code


FORMAT_VERSION: Final = 1

FILE_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,60}-[0-9a-f]{16}-[0-9]{4,}\.json")
_MAX_NAME_LENGTH: Final = 60
_RESTORE_ADVICE: Final = "restore the file, or record again with --refresh"

Sha256: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ModelFailure(FileModel):
    """The error of a failed request."""

    code: str
    """Code of a `CompletionError`."""
    message: str


class ResponseKey(NamedTuple):
    """Identifies the responses to a prompt."""

    metric_id: str
    prompt_digest: str

    def __str__(self) -> str:
        """Return the key for messages."""
        return f"{self.metric_id} {self.prompt_digest[:DIGITS_SHOWN]}"


class ModelResponse(FileModel):
    """One response or failure of a model; the file has exactly these fields, all of them."""

    format_version: Literal[1]
    recording: str = Field(min_length=1)
    """Recording id; files of two recordings do not mix."""
    metric_id: str = Field(min_length=1)
    sample_index: int = Field(ge=0)
    """Index among the responses to the same prompt for the same metric, in recorded order."""
    file_path: str
    model: str | None
    """As requested; null lets the client choose."""
    parameters: dict[str, FiniteJson]
    prompt: tuple[Message, ...] = Field(min_length=1)
    prompt_digest: Sha256
    response: str | None
    """Null if there is an error."""
    error: ModelFailure | None
    answered_by: str | None
    """The model named in the response."""
    usage: TokenUsage
    finish_reason: str | None
    duration_seconds: float = Field(ge=0)

    @model_validator(mode="after")
    def _answers_or_fails(self) -> Self:
        if (self.response is None) == (self.error is None):
            message = "expected either a response or an error, got both or neither"
            raise ValueError(message)
        return self

    @property
    def key(self) -> ResponseKey:
        """Return the key of the response."""
        return ResponseKey(self.metric_id, self.prompt_digest)

    @property
    def file_name(self) -> str:
        """Return a short, portable file name that is unique even on case-insensitive file systems."""
        readable = re.sub(r"[^A-Za-z0-9]+", "_", self.metric_id)[:_MAX_NAME_LENGTH].strip("_") or "metric"
        return f"{readable}-{file_name_digest(*self.key)}-{self.sample_index:04d}.json"

    @property
    def request(self) -> CompletionRequest:
        """Return the request."""
        return CompletionRequest(
            metric_id=self.metric_id,
            messages=self.prompt,
            model=self.model,
            parameters=self.parameters,
            file_path=self.file_path,
        )

    def completion(self) -> Completion:
        """Return the completion.

        Raises:
            CompletionError: the model failed when it was recorded; the same error is raised again.
        """
        if self.error is not None:
            raise error_from_code(self.error.code, self.error.message)
        return Completion(
            text=self.response or "", model=self.answered_by, usage=self.usage, finish_reason=self.finish_reason
        )


def response_bytes(response: ModelResponse) -> bytes:
    """Return the file content: UTF-8, indent 1, fields in model order."""
    return response.model_dump_json(indent=1).encode() + b"\n"


def parse_response(data: bytes, source: Path) -> ModelResponse:
    """Parse the content of a file; `source` is used in messages.

    Raises:
        ResponseCorruptError: it is not JSON, has another format, or its prompt was edited.
    """
    try:
        response = ModelResponse.model_validate_json(data)
    except ValidationError as error:
        raise ResponseCorruptError(_describe_error(error, data, source)) from error
    found = prompt_digest(response.request)
    if found != response.prompt_digest:
        message = (
            f"{source}: digest mismatch: expected {response.prompt_digest[:DIGITS_SHOWN]}, got "
            f"{found[:DIGITS_SHOWN]}; the prompt, "
            f"model, parameters or digest were edited after recording; {_RESTORE_ADVICE}"
        )
        raise ResponseCorruptError(message)
    if response.error is not None and response.error.code not in COMPLETION_CODES:
        message = (
            f"{source}: error.code: expected the code of a failed completion, got "
            f"{response.error.code!r}; {_RESTORE_ADVICE}"
        )
        raise ResponseCorruptError(message)
    return response


def _describe_error(error: ValidationError, data: bytes, source: Path) -> str:
    if error.error_count() > MAX_FAULTS:
        return validation_error(error, data, str(source)).message
    fault = error.errors(include_url=False)[0]
    if fault["type"] == "json_invalid":
        return f"{source}: malformed JSON: {fault['msg'].removeprefix('Invalid JSON: ')}; {_RESTORE_ADVICE}"
    plain = from_json(data)
    version = plain.get("format_version", FORMAT_VERSION) if isinstance(plain, dict) else FORMAT_VERSION
    if version != FORMAT_VERSION or isinstance(version, bool):
        return (
            f"{source}: expected format_version {FORMAT_VERSION}, got {describe_value(version)}; update "
            f"Eikon, or {_RESTORE_ADVICE}"
        )
    return f"{validation_error(error, data, str(source)).message}; {_RESTORE_ADVICE}"


ResponseSource: TypeAlias = Literal["captured", "replayed"]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedResponse:
    """One served response: a completion, or a failure that is raised."""

    response: ModelResponse
    source: ResponseSource
    latency_seconds: float
    """How long it took now; `response.duration_seconds` is how long the model took."""

    def __str__(self) -> str:
        """Return the log line."""
        response, usage = self.response, self.response.usage
        tokens = f"{_count(usage.prompt_tokens)} + {_count(usage.completion_tokens)} tokens"
        ended = tokens if response.error is None else f"failed ({response.error.code})"
        return escape_control_characters(
            f"completion {response.key} sample {response.sample_index}: {self.source}, "
            f"{self.latency_seconds * 1000:.0f} ms, {ended}, {response.file_name}"
        )


def ignore_response(_served: ServedResponse) -> None:
    """Ignore a served response."""


def report_response(served: ServedResponse, on_response: Callable[[ServedResponse], None]) -> None:
    """Log a served response and pass it to `on_response`."""
    _logger.debug("%s", served)
    on_response(served)


def _count(number: int | None) -> str:
    return "?" if number is None else str(number)
