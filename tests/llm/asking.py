"""Requests, folders and clients for tests."""

from __future__ import annotations

import threading
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any

from eikon_engine.llm import (
    Completion,
    CompletionRequest,
    DebugDirOptions,
    EchoClient,
    Message,
    TokenUsage,
    open_debug_dir,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eikon_engine.llm import CompletionClient, DebugDir


def request(text: str = "one", metric: str = "title", **fields: Any) -> CompletionRequest:  # noqa: ANN401 - as in the model
    """Make a request of one message."""
    return CompletionRequest(metric_id=metric, messages=(Message(role="user", content=text),), **fields)


class CountingClient:
    """Respond to each prompt with its text and the number of earlier requests, as in `one 0` and `one 1`."""

    def __init__(self) -> None:
        self._times: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.asked = 0

    def complete(self, request: CompletionRequest) -> Completion:
        """Return a completion of the prompt and its count."""
        text = request.messages[-1].content
        with self._lock:
            number = self._times[text]
            self._times[text] += 1
            self.asked += 1
        return Completion(text=f"{text} {number}", model="m-1", usage=TokenUsage(prompt_tokens=1), finish_reason="stop")


def never() -> CompletionClient:
    """Fail the test if a model is requested."""
    raise AssertionError("a model was asked")


def opened(
    folder: Path,
    live: Callable[[], CompletionClient] = EchoClient,
    lines: list[str] | None = None,
    /,
    **chosen: Any,  # noqa: ANN401 - modes and options
) -> DebugDir:
    """Open a folder whose recordings have counted ids."""
    modes = {name: chosen.pop(name) for name in ("refresh", "append") if name in chosen}
    report = (lambda _line: None) if lines is None else lines.append
    options = DebugDirOptions(report=report, new_id=chosen.pop("new_id", fresh_ids()), **chosen)
    return open_debug_dir(folder, live, options=options, **modes)


def fresh_ids() -> Callable[[], str]:
    """Generate the ids `recording-1`, `recording-2` and so on."""
    numbers = count(1)
    return lambda: f"recording-{next(numbers)}"


def capture(folder: Path, *texts: str, client: CompletionClient | None = None) -> list[str]:
    """Record the responses to some texts and return them."""
    live = client or CountingClient()
    with opened(folder, lambda: live) as used:
        return [used.client.complete(request(text)).text for text in texts]


def files(folder: Path) -> list[Path]:
    """Return the files of responses."""
    return sorted(path for path in folder.glob("*.json") if path.name != "recording.json")
