"""Answer from recorded responses, and from nothing else."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from typing import TYPE_CHECKING

from eikon_engine.completions.capture import Answered, ignore
from eikon_engine.completions.cleaned import as_it_is, cleaned_request
from eikon_engine.completions.digest import prompt_digest
from eikon_engine.completions.folder import read_folder
from eikon_engine.completions.nearest import no_replay_data
from eikon_engine.completions.recorded import ResponseKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from eikon_engine.completions.cleaned import Clean
    from eikon_engine.completions.completion import Completion, CompletionRequest
    from eikon_engine.completions.recorded import RecordedResponse


class ReplayExecutor:
    """Give each recorded response once: found by metric and prompt, repeated ones in recorded order.

    Any number of threads may ask; those with the same prompt get its responses one after the other.
    """

    def __init__(
        self,
        responses: Iterable[RecordedResponse],
        *,
        clean: Clean = as_it_is,
        watch: Callable[[Answered], None] = ignore,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Answer from `responses`; `clean` is what the recording was cleaned with, `watch` hears of each response."""
        self._recorded: defaultdict[ResponseKey, list[RecordedResponse]] = defaultdict(list)
        for each in sorted(responses, key=lambda each: (each.key, each.sample_index)):
            self._recorded[each.key].append(each)
        self._given: defaultdict[ResponseKey, int] = defaultdict(int)
        self._lock = threading.Lock()
        self._missed = 0
        self._clean = clean
        self._watch = watch
        self._clock = clock

    @classmethod
    def of_folder(
        cls, root: Path, *, clean: Clean = as_it_is, watch: Callable[[Answered], None] = ignore
    ) -> ReplayExecutor:
        """Answer from what a folder holds; from nothing where there is no folder.

        Raises:
            ResponsesError: it cannot be read, or trusted, or was not captured to its end.
        """
        folder = read_folder(root)
        if not folder.is_fresh:
            folder.demand_whole()
        return cls(folder.responses, clean=clean, watch=watch)

    def complete(self, request: CompletionRequest) -> Completion:
        """Return the recorded answer; nothing is asked.

        Raises:
            CompletionError: the model failed when it was recorded.
            NoReplayDataError: nothing was recorded for this prompt, or everything was given already.
        """
        completion = self.find(request)
        if completion is not None:
            return completion
        cleaned = cleaned_request(request, self._clean)
        with self._lock:
            self._missed += 1
        raise no_replay_data(cleaned, self._recorded)

    def find(self, request: CompletionRequest) -> Completion | None:
        """Return the next recorded answer to a prompt; None if there is none left.

        Raises:
            CompletionError: the model failed when it was recorded.
        """
        begun = self._clock()
        cleaned = cleaned_request(request, self._clean)
        response = self._take(ResponseKey(cleaned.metric_id, prompt_digest(cleaned)))
        if response is None:
            return None
        latency = max(0.0, self._clock() - begun)
        self._watch(Answered(response=response, source="replayed", latency_seconds=latency))
        return response.completion()

    @property
    def unused(self) -> tuple[RecordedResponse, ...]:
        """Return what was recorded and not asked for, by key."""
        with self._lock:
            return tuple(each for key, queue in self._recorded.items() for each in queue[self._given[key] :])

    @property
    def given(self) -> int:
        """Count the responses that were given."""
        with self._lock:
            return sum(self._given.values())

    @property
    def missed(self) -> int:
        """Count the requests that nothing was recorded for; whoever asked may have gone on all the same."""
        with self._lock:
            return self._missed

    def _take(self, key: ResponseKey) -> RecordedResponse | None:
        with self._lock:
            place = self._given[key]
            queue = self._recorded.get(key, [])
            if place >= len(queue):
                return None
            self._given[key] = place + 1
            return queue[place]
