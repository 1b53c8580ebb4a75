"""Measure the cost of capturing, loading and replaying model responses.

Run `python -m benchmarks.completions`. The model answers immediately, so what remains is our own cost: redaction, the
digest, and an atomic write that has reached the disk. Figures are medians.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

from benchmarks.table import table
from eikon_engine.llm import CompletionRequest, EchoClient, Message, open_debug_dir
from eikon_engine.llm.response_folder import read_complete_folder

if TYPE_CHECKING:
    from eikon_engine.llm import CompletionClient

LINE: Final = "The quick brown fox jumps over the lazy dog, and asks a model what it thinks of that.\n"
THREADS: Final = 8
LOADS: Final = 3


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The results, in seconds."""

    captured: float
    """Median of one captured response, in one thread."""
    captured_in_threads: float
    """Wall time of one captured response with several concurrent threads."""
    loaded: float
    """Median of loading all responses."""
    replayed: float
    """Median of one replayed response."""


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--responses", type=int, default=10_000)
    parser.add_argument("--kilobytes", type=int, default=4, help="size of a prompt")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measured = measure(Path(folder), arguments.responses, arguments.kilobytes)
    rows = [
        ("capture a response", f"{measured.captured * 1e3:.2f} ms"),
        (f"… with {THREADS} threads", f"{measured.captured_in_threads * 1e3:.2f} ms"),
        (f"load {arguments.responses:,} responses", f"{measured.loaded:.2f} s"),
        ("replay a response", f"{measured.replayed * 1e6:.0f} µs"),
    ]
    sys.stdout.write(table(("what", "median"), rows))


def measure(folder: Path, responses: int, kilobytes: int) -> Measured:
    """Capture, load and replay the given number of responses."""
    requests = [_request(number, kilobytes) for number in range(responses)]
    with open_debug_dir(folder / "one", EchoClient) as used:
        captured = [_seconds(used.client, each) for each in requests]
    with open_debug_dir(folder / "many", EchoClient) as used, ThreadPoolExecutor(THREADS) as pool:
        begun = perf_counter()
        tuple(pool.map(used.client.complete, requests[: max(1, responses // 10)]))
        in_threads = (perf_counter() - begun) / max(1, responses // 10)
    loads = [_timed(lambda: read_complete_folder(folder / "one")) for _ in range(LOADS)]
    with open_debug_dir(folder / "one", EchoClient) as used:
        replayed = [_seconds(used.client, each) for each in requests]
    return Measured(
        captured=statistics.median(captured),
        captured_in_threads=in_threads,
        loaded=statistics.median(loads),
        replayed=statistics.median(replayed),
    )


def _request(number: int, kilobytes: int) -> CompletionRequest:
    text = f"{number}\n" + LINE * (kilobytes * 1000 // len(LINE))
    messages = (Message(role="system", content="Answer shortly."), Message(role="user", content=text))
    return CompletionRequest(metric_id="bench", messages=messages, model="m", parameters={"temperature": 0.0})


def _seconds(client: CompletionClient, request: CompletionRequest) -> float:
    return _timed(lambda: client.complete(request))


def _timed(work: Callable[[], object]) -> float:
    begun = perf_counter()
    work()
    return perf_counter() - begun


if __name__ == "__main__":
    main()
