"""Fuzz targets in processes of their own, so that an input that ends one is a finding like others."""

from __future__ import annotations

import multiprocessing
import tempfile
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.fuzz.coverage_guided import fuzz_by_coverage
from benchmarks.fuzz.run import Choice, Finding, Result, fuzz, limit_memory
from benchmarks.fuzz.targets import TARGETS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def fuzz_all(names: Sequence[str], choice: Choice, *, jobs: int, by_coverage: bool) -> Iterator[Result]:
    """Fuzz targets, `jobs` of them at a time; yield their results in order."""
    with ThreadPoolExecutor(jobs) as threads:
        yield from threads.map(partial(fuzz_by_coverage if by_coverage else _fuzz_apart, choice=choice), names)


def _fuzz_apart(name: str, choice: Choice) -> Result:
    """Fuzz a target in a process; an input that ends it is a finding, too."""
    context = multiprocessing.get_context("spawn")
    with (
        tempfile.NamedTemporaryFile(prefix="eikon-input-") as last,
        ProcessPoolExecutor(1, mp_context=context) as pool,
    ):
        try:
            return pool.submit(_fuzz, name, choice, Path(last.name)).result()
        except BrokenProcessPool:
            found = Finding("the process ended", Path(last.name).read_bytes())
            return Result(name, inputs=1, foreign=1, findings={found.site: found})


def _fuzz(name: str, choice: Choice, last: Path) -> Result:
    limit_memory()
    return fuzz(name, TARGETS[name], choice, last)
