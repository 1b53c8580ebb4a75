"""Report each response served to a caller."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from eikon_engine.outcome.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.completions.model_response import ModelResponse

Source: TypeAlias = Literal["captured", "replayed"]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """One served response: a completion, or a failure that is raised."""

    response: ModelResponse
    source: Source
    latency_seconds: float
    """How long it took now; `response.duration_seconds` is how long the model took."""

    def __str__(self) -> str:
        """Return the log line."""
        response, usage = self.response, self.response.usage
        tokens = f"{_count(usage.prompt_tokens)} + {_count(usage.completion_tokens)} tokens"
        ended = tokens if response.error is None else f"failed ({response.error.code})"
        return printable(
            f"completion {response.key} sample {response.sample_index}: {self.source}, "
            f"{self.latency_seconds * 1000:.0f} ms, {ended}, {response.file_name}"
        )


def ignore(_answered: Answered) -> None:
    """Ignore a served response."""


def tell_of(answered: Answered, watch: Callable[[Answered], None]) -> None:
    """Log a served response and pass it to `watch`."""
    _logger.debug("%s", answered)
    watch(answered)


def _count(number: int | None) -> str:
    return "?" if number is None else str(number)
