"""Rerun the skills of many bundles in parallel processes, with results in the order of the bundles."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import InternalError
from eikon_engine.rerun.rerun import rerun_bundle
from eikon_engine.skills import default_skills

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from eikon_engine.completions import CompletionClient
    from eikon_engine.rerun.report import BundleRerun
    from eikon_engine.skills.registry import SkillRegistry

_BUNDLES_PER_PROCESS: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunOptions:
    """Options of a rerun."""

    skill_names: frozenset[str] = frozenset()
    """Names of the skills to rerun; empty means all."""
    jobs: int | None = None
    """Number of processes; None means one per core. A few bundles run in this process."""
    load_skills: Callable[[], SkillRegistry] = field(default=default_skills)
    """Factory of the registry, called once in each process."""
    completion_client: CompletionClient | None = None
    """Completion client to use instead of the responses in the bundles; disables parallel processes."""


def rerun_bundles(paths: Sequence[Path], options: RerunOptions) -> Iterator[BundleRerun]:
    """Rerun the skills of bundles and yield the results in the order of `paths`.

    Raises:
        InternalError: a worker process died.
    """
    jobs = min(options.jobs or os.cpu_count() or 1, max(1, len(paths) // _BUNDLES_PER_PROCESS))
    if jobs == 1 or options.completion_client is not None:
        skills = options.load_skills()
        for path in paths:
            yield rerun_bundle(path, skills, options.skill_names, options.completion_client)
        return
    with _pool(jobs, options) as pool:
        try:
            yield from pool.map(_rerun_in_worker, paths)
        except BrokenProcessPool as error:
            message = "a worker process of the rerun died. Try --jobs 1."
            raise InternalError(message) from error


@contextmanager
def _pool(jobs: int, options: RerunOptions) -> Iterator[ProcessPoolExecutor]:
    """Spawn worker processes; forking would copy threads and locks."""
    pool = ProcessPoolExecutor(
        jobs,
        mp_context=get_context("spawn"),
        initializer=_init_worker,
        initargs=(options.load_skills, options.skill_names),
    )
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


_worker_state: dict[str, tuple[SkillRegistry, frozenset[str]]] = {}
"""State of a worker process, set once by its initializer."""


def _init_worker(skills: Callable[[], SkillRegistry], only: frozenset[str]) -> None:
    _worker_state["work"] = (skills(), only)


def _rerun_in_worker(path: Path) -> BundleRerun:
    skills, only = _worker_state["work"]
    return rerun_bundle(path, skills, only)
