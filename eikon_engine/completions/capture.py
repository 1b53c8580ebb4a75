"""Ask a model, and keep what it answers."""

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
"""What is no answer of a model, but the lack of one."""


class CapturingClient:
    """Hand requests on, and write each answer and each failure of the model before it is given to the caller.

    The caller gets the answer as it came; what is written is cleaned of secrets.
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
        """Ask `live`; `watch` hears of each response that is kept, `clock` counts seconds.

        `keeps_outages` says whether a server that is away, or silent, is an answer too; without it, the recording is
        not whole, so that the question is asked again and no replay repeats a fault of one hour.
        """
        self._live = live
        self._writer = writer
        self._clean = clean
        self._watch = watch
        self._keeps_outages = keeps_outages
        self._clock = clock

    def complete(self, request: CompletionRequest) -> Completion:
        """Ask once, and keep what comes.

        Raises:
            CompletionError: the model gave no answer; that is kept too, see `keeps_outages`.
            OutputError: the answer cannot be written.
            UsageError: it came after the recording had ended.
        """
        begun = self._clock()
        cleaned = cleaned_request(request, self._clean)
        with self._writer.awaiting():
            try:
                completion = self._live.complete(request)
            except CompletionError as error:
                if isinstance(error, _OUTAGES) and not self._keeps_outages:
                    self._writer.go_without()
                    raise
                self._keep(self._recorded(cleaned, error, self._seconds_since(begun)))
                raise
            self._keep(self._recorded(cleaned, completion, self._seconds_since(begun)))
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
    """The part of a recorded response that the model decides."""

    response: str | None
    error: ModelFailure | None
    answered_by: str | None
    usage: TokenUsage
    finish_reason: str | None
