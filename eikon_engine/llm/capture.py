"""Ask a model and record its responses, all of them or only missing ones."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Final, TypedDict

from eikon_engine.errors import CompletionError, CompletionUnreachableError
from eikon_engine.llm.completion import no_redaction, prompt_digest, redact_request
from eikon_engine.llm.model_response import (
    FORMAT_VERSION,
    ModelFailure,
    ModelResponse,
    ServedResponse,
    code_for_error,
    ignore_response,
    report_response,
)
from eikon_engine.trace.execution import TokenUsage

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.llm.completion import Completion, CompletionClient, CompletionRequest, RedactText
    from eikon_engine.llm.replay import ReplayClient
    from eikon_engine.llm.response_folder import ResponseWriter

_OUTAGE_CODES: Final = ("completion-timeout", CompletionUnreachableError.code)
"""Failures without any response of the model."""


class CapturingClient:
    """Forward requests and write each response or failure before the caller gets it.

    The caller gets the original; the written response is redacted.
    """

    def __init__(
        self,
        live: CompletionClient,
        writer: ResponseWriter,
        *,
        redact: RedactText = no_redaction,
        on_response: Callable[[ServedResponse], None] = ignore_response,
        records_outages: bool = True,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Ask `live`; `on_response` receives each stored response, `clock` returns seconds.

        `records_outages` records timeouts and unreachable servers too; otherwise the recording becomes incomplete, so
        that the request is repeated and no replay reproduces a temporary outage.
        """
        self._live = live
        self._writer = writer
        self._redact = redact
        self._on_response = on_response
        self._records_outages = records_outages
        self._clock = clock

    def complete(self, request: CompletionRequest) -> Completion:
        """Ask once and record the result.

        Raises:
            CompletionError: the model failed; that is recorded too, see `records_outages`.
            OutputError: the response cannot be written.
            UsageError: it arrived after the recording had ended.
        """
        started = self._clock()
        cleaned = redact_request(request, self._redact)
        with self._writer.pending_request():
            try:
                completion = self._live.complete(request)
            except CompletionError as error:
                if error.code in _OUTAGE_CODES and not self._records_outages:
                    self._writer.mark_incomplete()
                    raise
                self._store(self._build_response(cleaned, error, self._seconds_since(started)))
                raise
            self._store(self._build_response(cleaned, completion, self._seconds_since(started)))
        return completion

    def _seconds_since(self, started: float) -> float:
        return max(0.0, self._clock() - started)

    def _store(self, response: ModelResponse) -> None:
        kept = self._writer.add(response)
        report_response(
            ServedResponse(response=kept, source="captured", latency_seconds=kept.duration_seconds), self._on_response
        )

    def _build_response(
        self, request: CompletionRequest, result: Completion | CompletionError, seconds: float
    ) -> ModelResponse:
        outcome = (
            self._failure_fields(result) if isinstance(result, CompletionError) else self._completion_fields(result)
        )
        return ModelResponse(
            format_version=FORMAT_VERSION,
            recording=self._writer.recording,
            metric_id=request.metric_id,
            sample_index=0,
            file_path=request.file_path,
            model=request.model,
            parameters=request.parameters,
            prompt=request.messages,
            prompt_digest=prompt_digest(request),
            duration_seconds=seconds,
            **outcome,
        )

    def _failure_fields(self, error: CompletionError) -> _OutcomeFields:
        return {
            "response": None,
            "error": ModelFailure(code=code_for_error(error), message=self._redact(error.message)),
            "answered_by": None,
            "usage": TokenUsage(),
            "finish_reason": None,
        }

    def _completion_fields(self, completion: Completion) -> _OutcomeFields:
        clean = self._redact
        return {
            "response": clean(completion.text),
            "error": None,
            "answered_by": None if completion.model is None else clean(completion.model),
            "usage": completion.usage,
            "finish_reason": None if completion.finish_reason is None else clean(completion.finish_reason),
        }


class _OutcomeFields(TypedDict):
    """The fields of a recorded response that the model determines."""

    response: str | None
    error: ModelFailure | None
    answered_by: str | None
    usage: TokenUsage
    finish_reason: str | None


class AppendingClient:
    """Serve recorded responses first; a recorded failure is raised and not requested again."""

    def __init__(self, recorded: ReplayClient, live: CompletionClient) -> None:
        """Ask `live` when `recorded` has no response left for a prompt."""
        self._recorded = recorded
        self._live = live

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the recorded completion, else a new one.

        Raises:
            CompletionError: the model failed, when recorded or now.
        """
        found = self._recorded.find(request)
        return self._live.complete(request) if found is None else found


class LazyClient:
    """Create a client on first use: a run without requests needs neither key nor library."""

    def __init__(self, create: Callable[[], CompletionClient]) -> None:
        """Call `create` once, on first use."""
        self._create = create
        self._client: CompletionClient | None = None
        self._lock = threading.Lock()

    def complete(self, request: CompletionRequest) -> Completion:
        """Ask the client.

        Raises:
            RequirementError: the client cannot be created.
            CompletionError: the model failed.
        """
        with self._lock:
            client = self._client = self._client or self._create()
        return client.complete(request)
