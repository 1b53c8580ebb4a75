"""Report each response served to a caller."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from eikon_engine.outcome.printable import escape_control_characters

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.completions.model_response import ModelResponse

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
    """Log a served response and pass it to `watch`."""
    _logger.debug("%s", served)
    on_response(served)


def _count(number: int | None) -> str:
    return "?" if number is None else str(number)
