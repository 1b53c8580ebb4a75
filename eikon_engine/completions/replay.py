"""Replay recorded responses without asking a model."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from typing import TYPE_CHECKING

from eikon_engine.completions.answered import ServedResponse, ignore_response, report_response
from eikon_engine.completions.cleaned import no_redaction, redact_request
from eikon_engine.completions.digest import prompt_digest
from eikon_engine.completions.model_response import ResponseKey
from eikon_engine.completions.nearest import RECORD_AGAIN_ADVICE, explain_missing_response

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from eikon_engine.completions.cleaned import RedactText
    from eikon_engine.completions.completion import Completion, CompletionRequest
    from eikon_engine.completions.model_response import ModelResponse


class ReplayClient:
    """Serve each recorded response once, by metric and prompt; repeated prompts in recorded order.

    Thread-safe: concurrent requests with the same prompt get successive responses.
    """

    def __init__(
        self,
        responses: Iterable[ModelResponse],
        *,
        redact: RedactText = no_redaction,
        on_response: Callable[[ServedResponse], None] = ignore_response,
        advice: str = RECORD_AGAIN_ADVICE,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Serve `responses`; `clean` is the redaction of the recording, `watch` receives each served response.

        `advice` ends the message of a request without a recorded response.
        """
        self._recorded: defaultdict[ResponseKey, list[ModelResponse]] = defaultdict(list)
        for each in sorted(responses, key=lambda each: (each.key, each.sample_index)):
            self._recorded[each.key].append(each)
        self._served_counts: defaultdict[ResponseKey, int] = defaultdict(int)
        self._lock = threading.Lock()
        self._missed_count = 0
        self._redact = redact
        self._on_response = on_response
        self._advice = advice
        self._clock = clock

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the recorded completion; no model is asked.

        Raises:
            CompletionError: the model failed when it was recorded.
            NoReplayDataError: nothing was recorded for this prompt, or every response was served already.
        """
        completion = self.find(request)
        if completion is not None:
            return completion
        cleaned = redact_request(request, self._redact)
        with self._lock:
            self._missed_count += 1
        raise explain_missing_response(cleaned, self._recorded, self._advice)

    def find(self, request: CompletionRequest) -> Completion | None:
        """Return the next recorded completion of a prompt; None if there is none left.

        Raises:
            CompletionError: the model failed when it was recorded.
        """
        started = self._clock()
        cleaned = redact_request(request, self._redact)
        response = self._next_response(ResponseKey(cleaned.metric_id, prompt_digest(cleaned)))
        if response is None:
            return None
        latency = max(0.0, self._clock() - started)
        report_response(
            ServedResponse(response=response, source="replayed", latency_seconds=latency), self._on_response
        )
        return response.completion()

    @property
    def unused(self) -> tuple[ModelResponse, ...]:
        """Return the responses that were not requested, by key."""
        with self._lock:
            return tuple(each for key, queue in self._recorded.items() for each in queue[self._served_counts[key] :])

    @property
    def served(self) -> int:
        """Return the number of served responses."""
        with self._lock:
            return sum(self._served_counts.values())

    @property
    def missed(self) -> int:
        """Return the number of requests without a recorded response, even if the caller handled the error."""
        with self._lock:
            return self._missed_count

    def _next_response(self, key: ResponseKey) -> ModelResponse | None:
        with self._lock:
            place = self._served_counts[key]
            queue = self._recorded.get(key, [])
            if place >= len(queue):
                return None
            self._served_counts[key] = place + 1
            return queue[place]
