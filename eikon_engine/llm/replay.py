"""Replay recorded responses without asking a model, and explain requests that none of them matches."""

from __future__ import annotations

import difflib
import heapq
import threading
import time
from collections import Counter, defaultdict
from itertools import groupby, islice
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import NoReplayDataError
from eikon_engine.files.json_text import canonical_json
from eikon_engine.files.text import pluralize, shorten, shorten_pair, shorten_pairs
from eikon_engine.llm.completion import no_redaction, prompt_digest, redact_request
from eikon_engine.llm.model_response import ResponseKey, ServedResponse, ignore_response, report_response
from eikon_engine.outcome.terminal import escape_control_characters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pydantic import JsonValue

    from eikon_engine.llm.completion import Completion, CompletionRequest, Message, RedactText
    from eikon_engine.llm.model_response import ModelResponse

DETAILED_COMPARISONS: Final = 5
"""Number of candidates compared in detail."""
MAX_DIFF_LINES: Final = 60
MAX_LINE_LENGTH: Final = 300
_MAX_VALUE_LENGTH: Final = 60
_MAX_METRICS_SHOWN: Final = 5
RECORD_AGAIN_ADVICE: Final = "undo the change, record again with --refresh, or record missing responses with --append"


def explain_missing_response(
    request: CompletionRequest,
    recorded: Mapping[ResponseKey, Sequence[ModelResponse]],
    advice: str = RECORD_AGAIN_ADVICE,
) -> NoReplayDataError:
    """Explain a request without a recorded response: requested too often, other model, other metric, or changed."""
    key = ResponseKey(request.metric_id, prompt_digest(request))
    reason, difference = _reason(request, key, recorded)
    return NoReplayDataError(escape_control_characters(f"no replay data for {key}: {reason}; {advice}"), difference)


def _reason(
    request: CompletionRequest, key: ResponseKey, recorded: Mapping[ResponseKey, Sequence[ModelResponse]]
) -> tuple[str, str]:
    times = len(recorded.get(key, ()))
    if times:
        return f"its prompt was recorded {pluralize(times, 'time')} and requested once more", ""
    elsewhere = sorted({each.metric_id for each in recorded if each.prompt_digest == key.prompt_digest})
    if elsewhere:
        return f"the same prompt was recorded for {_join_names(elsewhere)}", ""
    candidates = [queue[0] for each, queue in recorded.items() if each.metric_id == request.metric_id and queue]
    if not candidates:
        metrics = sorted({each.metric_id for each in recorded})
        only = f"nothing was recorded for this metric; recorded metrics: {_join_names(metrics)}"
        return only if metrics else "no response was recorded", ""
    same = [each for each in candidates if each.prompt == request.messages]
    nearest = _nearest(request, same or candidates)
    others = "; ".join(_setting_differences(request, nearest))
    if same:
        return f"the same prompt was recorded with a different {others}", ""
    what = f"the nearest recorded prompt is {nearest.file_name}" + (f", with a different {others}" if others else "")
    return what, _prompt_diff(nearest, request)


def _nearest(request: CompletionRequest, candidates: list[ModelResponse]) -> ModelResponse:
    """Return the candidate with the most common lines; the best ones are compared by characters."""
    expected = _prompt_lines(request.messages)
    lines = Counter(expected)
    best = heapq.nlargest(DETAILED_COMPARISONS, candidates, key=lambda each: _common_line_ratio(lines, each))
    return max(best, key=lambda each: (_similarity(expected, each), -len(tuple(_setting_differences(request, each)))))


def _common_line_ratio(expected: Counter[str], candidate: ModelResponse) -> float:
    lines = Counter(_prompt_lines(candidate.prompt))
    return 2 * (expected & lines).total() / max(1, expected.total() + lines.total())


def _similarity(expected: list[str], candidate: ModelResponse) -> float:
    lines = _prompt_lines(candidate.prompt)
    by_lines = difflib.SequenceMatcher(None, lines, expected, autojunk=False).ratio()
    begin, other = "\n".join(lines)[:2000], "\n".join(expected)[:2000]
    return by_lines + difflib.SequenceMatcher(None, begin, other, autojunk=False).quick_ratio()


def _prompt_lines(messages: Iterable[Message]) -> list[str]:
    return [line for each in messages for line in (f"[{each.role}]", *each.content.split("\n"))]


def _prompt_diff(nearest: ModelResponse, request: CompletionRequest) -> str:
    """Return a unified diff from the recorded prompt to the requested one."""
    before, after = _prompt_lines(nearest.prompt), _prompt_lines(request.messages)
    found = list(difflib.unified_diff(before, after, f"recorded {nearest.file_name}", "requested", lineterm="", n=2))
    shown = [escape_control_characters(line) for line in islice(_shortened_lines(found), MAX_DIFF_LINES)]
    left = len(found) - len(shown)
    return "\n".join([*shown, *([f"… {pluralize(left, 'more line')}"] if left else [])])


def _shortened_lines(diff: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a unified diff, shortened; those that replace each other still show where they differ."""
    for is_changed, block in groupby(diff, lambda line: line.startswith(("-", "+"))):
        lines = list(block)
        if not is_changed:
            yield from (shorten(line, MAX_LINE_LENGTH) for line in lines)
            continue
        sides = ([line[1:] for line in lines if line.startswith(mark)] for mark in "-+")
        removed, added = shorten_pairs(next(sides), next(sides), MAX_LINE_LENGTH)
        yield from (f"-{line}" for line in removed)
        yield from (f"+{line}" for line in added)


def _setting_differences(request: CompletionRequest, recorded: ModelResponse) -> Iterator[str]:
    """Yield differences of model and parameters."""
    if request.model != recorded.model:
        yield f"model: recorded {recorded.model or 'none'}, requested {request.model or 'none'}"
    for name in sorted({*request.parameters, *recorded.parameters}):
        before, after = _parameter_text(recorded.parameters, name), _parameter_text(request.parameters, name)
        if before != after:
            recorded_text, requested_text = shorten_pair(before, after, _MAX_VALUE_LENGTH)
            yield f"parameter {name}: recorded {recorded_text}, requested {requested_text}"


def _parameter_text(parameters: Mapping[str, JsonValue], name: str) -> str:
    if name not in parameters:
        return "none"
    return canonical_json(parameters[name])


def _join_names(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_METRICS_SHOWN} more" if len(names) > _MAX_METRICS_SHOWN else ""
    return ", ".join(names[:_MAX_METRICS_SHOWN]) + more


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
        """Serve `responses`; `redact` is the redaction of the recording, `on_response` receives each served response.

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
