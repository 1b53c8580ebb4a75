"""Ask a model and record its responses."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final, TypedDict

from eikon_engine.completions.answered import Answered, ignore, tell_of
from eikon_engine.completions.cleaned import as_it_is, cleaned_request
from eikon_engine.completions.digest import prompt_digest
from eikon_engine.completions.failures import code_of
from eikon_engine.completions.model_response import FORMAT_VERSION, ModelFailure, ModelResponse
from eikon_engine.errors import CompletionError, CompletionTimeoutError, CompletionUnreachableError
from eikon_engine.trace.token_usage import TokenUsage

if TYPE_CHECKING:
    from collections.abc import Callable

    from eikon_engine.completions.cleaned import Clean
    from eikon_engine.completions.client import CompletionClient
    from eikon_engine.completions.completion import Completion, CompletionRequest
    from eikon_engine.completions.writer import ResponseWriter

_OUTAGES: Final = (CompletionTimeoutError, CompletionUnreachableError)
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
        clean: Clean = as_it_is,
        watch: Callable[[Answered], None] = ignore,
        keeps_outages: bool = True,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Ask `live`; `watch` receives each stored response, `clock` returns seconds.

        `keeps_outages` records timeouts and unreachable servers too; otherwise the recording becomes incomplete, so
        that the request is repeated and no replay reproduces a temporary outage.
        """
        self._live = live
        self._writer = writer
        self._clean = clean
        self._watch = watch
        self._keeps_outages = keeps_outages
        self._clock = clock

    def complete(self, request: CompletionRequest) -> Completion:
        """Ask once and record the result.

        Raises:
            CompletionError: the model failed; that is recorded too, see `keeps_outages`.
            OutputError: the response cannot be written.
            UsageError: it arrived after the recording had ended.
        """
        started = self._clock()
        cleaned = cleaned_request(request, self._clean)
        with self._writer.awaiting():
            try:
                completion = self._live.complete(request)
            except CompletionError as error:
                if isinstance(error, _OUTAGES) and not self._keeps_outages:
                    self._writer.go_without()
                    raise
                self._keep(self._recorded(cleaned, error, self._seconds_since(started)))
                raise
            self._keep(self._recorded(cleaned, completion, self._seconds_since(started)))
        return completion

    def _seconds_since(self, begun: float) -> float:
        return max(0.0, self._clock() - begun)

    def _keep(self, response: ModelResponse) -> None:
        kept = self._writer.add(response)
        tell_of(Answered(response=kept, source="captured", latency_seconds=kept.duration_seconds), self._watch)

    def _recorded(
        self, request: CompletionRequest, came: Completion | CompletionError, seconds: float
    ) -> ModelResponse:
        outcome = self._failure(came) if isinstance(came, CompletionError) else self._answer(came)
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

    def _failure(self, error: CompletionError) -> _Outcome:
        return {
            "response": None,
            "error": ModelFailure(code=code_of(error), message=self._clean(error.message)),
            "answered_by": None,
            "usage": TokenUsage(),
            "finish_reason": None,
        }

    def _answer(self, completion: Completion) -> _Outcome:
        clean = self._clean
        return {
            "response": clean(completion.text),
            "error": None,
            "answered_by": None if completion.model is None else clean(completion.model),
            "usage": completion.usage,
            "finish_reason": None if completion.finish_reason is None else clean(completion.finish_reason),
        }


class _Outcome(TypedDict):
    """The fields of a recorded response that the model determines."""

    response: str | None
    error: ModelFailure | None
    answered_by: str | None
    usage: TokenUsage
    finish_reason: str | None
