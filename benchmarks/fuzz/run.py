"""Feed a target with inputs until it raises what it may not, takes too long, or the inputs are used up."""

from __future__ import annotations

import hashlib
import math
import resource
import signal
import tempfile
import time
import traceback
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random  # noqa: TID251 - seeded
from typing import TYPE_CHECKING, Final, Self

from benchmarks.fuzz.target import CORPUS, REFUSALS, ROOT
from eikon_engine.files.limits import MAX_DOCUMENT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from benchmarks.fuzz.target import Target

MAX_SECONDS: Final = 10
"""Time that an input may take."""
MAX_MEMORY: Final = 4 * MAX_DOCUMENT_BYTES
"""Memory that a process may use."""
_MAX_SHRINKS: Final = 400
"""Attempts to shorten an input."""
_MAX_KEPT: Final = 20
"""Different findings of a target that are kept; a reader with more is broken anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """How targets are fuzzed."""

    inputs: int
    """Of each target."""
    seconds: float = math.inf
    """Of each target, at most."""
    seed: int = 1
    corpus: Path = CORPUS
    """Folder of the corpora."""


class TooSlowError(BaseException):
    """An input takes too long; no `except Exception` catches it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """An input that a reader neither accepts nor refuses."""

    site: str
    """What was raised, and where; equal for equal causes."""
    data: bytes

    @property
    def name(self) -> str:
        """Return the name of its file."""
        return f"found-{hashlib.sha256(self.data).hexdigest()[:12]}"


@dataclass(slots=True)
class Result:
    """What became of the inputs of a target."""

    target: str
    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    foreign: int = 0
    """Inputs that raised what they may not, or took too long."""
    findings: dict[str, Finding] = field(default_factory=dict)
    """The shortest input by site."""
    slowest_ms: float = 0.0
    seconds: float = 0.0


class Fuzzer:
    """Feeds one target; a context manager, which has the folder that the target works in."""

    def __init__(self, name: str, target: Target, corpus: Path = CORPUS, last: Path | None = None) -> None:
        """Store the target and the folder of all corpora; `last` gets each input, in case that it ends the process."""
        self._name, self._target, self._last = name, target, last
        self._folder = tempfile.TemporaryDirectory(prefix="eikon-fuzz-")
        self.samples = [each.read_bytes() for each in target.corpus(name, corpus)] or [b""]
        """The corpus of the target; an empty input if it has none."""
        self.result = Result(name)

    def __enter__(self) -> Self:
        self._target.prepare(Path(self._folder.name))
        return self

    def __repr__(self) -> str:
        return f"Fuzzer of {self._name}"

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def run(self, inputs: int, seed: int, seconds: float) -> Result:
        """Feed the corpus, then mutated inputs of it: a number of them, or until the time is over."""
        chance = Random(f"{seed}:{self._name}")  # noqa: S311 - no secret
        samples = self.samples
        started = time.monotonic()
        for number in range(inputs):
            if number < len(samples):
                self.feed(samples[number])
            else:
                self.feed(self._target.mutated(chance.choice(samples), chance, samples))
            if time.monotonic() - started > seconds:
                break
        self.result.seconds = time.monotonic() - started
        return self.result

    def feed(self, data: bytes) -> str | None:
        """Feed one input; return the site of the finding, None if there is none."""
        result = self.result
        if self._last is not None:
            self._last.write_bytes(data)
        begun = time.perf_counter()
        site, is_accepted = self._site(data)
        taken = time.perf_counter() - begun
        result.inputs += 1
        result.accepted += is_accepted
        result.slowest_ms = max(result.slowest_ms, taken * 1000)
        if site is None:
            result.refused += not is_accepted
            return None
        result.foreign += 1
        known = result.findings.get(site)
        if (known is None and len(result.findings) < _MAX_KEPT) or (known is not None and len(data) < len(known.data)):
            result.findings[site] = Finding(site, data)
        return site

    def _site(self, data: bytes) -> tuple[str | None, bool]:
        try:
            with _deadline(MAX_SECONDS):
                self._target.read(data, Path(self._folder.name))
        except REFUSALS:
            return None, False
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as fault:  # noqa: BLE001 - what is looked for
            return _site_of(fault), False
        return None, True

    def shrink(self, finding: Finding) -> Finding:
        """Return a shorter input with the same site, if one is found."""

        def is_same(data: bytes) -> bool:
            return self._site(data)[0] == finding.site

        if finding.site.startswith(TooSlowError.__name__) or not is_same(finding.data):
            return finding
        return Finding(finding.site, _shortened(finding.data, is_same))


def fuzz(name: str, target: Target, choice: Choice, last: Path | None = None) -> Result:
    """Feed a target with the corpus and mutated inputs; the inputs of the findings are shortened.

    Each input is written to the file `last` first, if given, in case that it ends the process.
    """
    with Fuzzer(name, target, choice.corpus, last) as fuzzer:
        result = fuzzer.run(choice.inputs, choice.seed, choice.seconds)
        result.findings = {site: fuzzer.shrink(each) for site, each in result.findings.items()}
    return result


def limit_memory() -> None:
    """Limit the memory of this process: what a reader allocates beyond it is a `MemoryError`."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))


def _shortened(data: bytes, is_same: Callable[[bytes], bool]) -> bytes:
    """Delete parts, ever shorter ones, while the finding stays."""
    size, attempts = max(1, len(data) // 2), 0
    while size and attempts < _MAX_SHRINKS:
        start, is_shorter = 0, False
        while start < len(data) and attempts < _MAX_SHRINKS:
            attempts += 1
            rest = data[:start] + data[start + size :]
            if is_same(rest):
                data, is_shorter = rest, True
            else:
                start += size
        if not is_shorter or size > len(data):
            size //= 2
    return data


def _site_of(fault: BaseException) -> str:
    """Return the class of an exception, and the last place in our code that it passed."""
    frames = [each for each in traceback.extract_tb(fault.__traceback__) if "eikon_engine" in each.filename]
    if not frames:
        return f"{type(fault).__name__}: {str(fault)[:80]!r}"
    file = Path(frames[-1].filename)
    place = file.relative_to(ROOT) if file.is_relative_to(ROOT) else Path(file.name)
    return f"{type(fault).__name__} at {place.as_posix()}:{frames[-1].lineno}"


@contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """Raise `TooSlowError` in the block when its time is over."""

    def expire(_number: int, _frame: FrameType | None) -> None:
        raise TooSlowError(f"took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
