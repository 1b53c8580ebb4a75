"""Make the replays of a suite on a Ray cluster, in actors with a browser each; an extra.

Each actor makes its replays with the code of a local worker, in a folder of its node, and returns the artifacts with
the result. So nodes need the package and a browser, and the bundles under the same paths.
"""

from __future__ import annotations

import socket
from collections import deque
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from eikon_engine.errors import InternalError, OutputError, RequirementError
from eikon_engine.files.extras import install_command
from eikon_engine.files.temporary import temporary_folder
from eikon_engine.files.wall_clock import utc_now
from eikon_engine.files.writing import copy_file, write_error_message
from eikon_engine.outcome.suite_results import MissionResult
from eikon_engine.replay.engine import SharedBrowsers
from eikon_engine.suite.runner import REPLAYS_AT_ONCE, Retries
from eikon_engine.suite.worker import replay_job

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime
    from pathlib import Path

    from eikon_engine.suite.worker import Answer, Job

ACTOR_PROCESSORS: Final = 1
"""Processors that each actor claims; deploy/rayjob.yaml counts on it."""
_POLL_S: Final = 0.5
_CONNECT_S: Final = 5.0
"""Wall time within which a cluster must accept a connection."""
_ENVIRONMENT: Final = {"RAY_worker_niceness": "0"}
"""Of actors on this machine: Ray would let other processes go first, which local workers do not."""
MAX_IN_FLIGHT: Final = 10_000
"""Replays in flight at most, whatever the cluster: their artifacts come back through this process."""


@dataclass(frozen=True, slots=True)
class _Flight:
    """A replay that an actor makes."""

    job: Job
    actor: Any
    begun_at: datetime


class RayRunner:
    """Replays jobs in actors, at most so many at once; retries each once whose actor or browser ended."""

    def __init__(
        self, workers: int, address: str | None = None, *, should_stop: Callable[[], str] = lambda: ""
    ) -> None:
        """Use so many actors of the cluster at an address, or of one on this machine.

        Raises:
            RequirementError: Ray is not installed.
        """
        if find_spec("ray") is None:
            raise RequirementError(f'the engine ray needs the extra "ray"; run {install_command("ray")}')
        self._size = workers
        self._address = address
        self._should_stop = should_stop
        self._actors: list[Any] = []
        self._flights: dict[Any, _Flight] = {}
        self._waiting: deque[Job] = deque()
        self._retries = Retries()
        self.ended_early = ""
        """Why jobs were not made; empty if all were."""

    def run(self, jobs: Iterable[Job]) -> Iterator[MissionResult]:
        """Yield the result of each job as it ends, in any order, after its artifacts are written.

        Raises:
            RequirementError: the cluster cannot be reached.
        """
        ray = _library()
        self._waiting = deque(jobs)
        _connect(self._address, self._size)
        try:
            while self._waiting or self._flights:
                if not self.ended_early and self._waiting:
                    self.ended_early = self._should_stop()
                if self.ended_early:
                    self._waiting.clear()
                self._hand_out()
                ready, _ = ray.wait(list(self._flights), num_returns=1, timeout=_POLL_S)
                for reference in ready:
                    yield from self._collect(reference)
        finally:
            for actor in self._actors:
                ray.kill(actor)
            ray.shutdown()

    def _hand_out(self) -> None:
        """Give jobs to the actors with the fewest; no more than these can make at once."""
        while len(self._actors) < min(self._size, len(self._waiting) + len(self._flights)):
            self._actors.append(_start_actor())
        while self._waiting and len(self._flights) < min(len(self._actors) * REPLAYS_AT_ONCE, MAX_IN_FLIGHT):
            loads = [sum(each.actor is actor for each in self._flights.values()) for actor in self._actors]
            actor = self._actors[loads.index(min(loads))]
            job = self._waiting.popleft()
            sent = replace(job, bundle=job.bundle.absolute())
            self._flights[actor.replay.remote(sent)] = _Flight(job, actor, utc_now())

    def _collect(self, reference: object) -> Iterator[MissionResult]:
        """Yield the result of a flight that has ended, unless it is made again."""
        ray = _library()
        flight = self._flights.pop(reference)
        try:
            answer, files = ray.get(reference)
        except ray.exceptions.RayError as error:
            if flight.actor in self._actors:
                self._actors.remove(flight.actor)
                ray.kill(flight.actor)
            reason = f"its actor ended ({type(error).__name__})"
            answer, files, lost = None, {}, reason
        else:
            lost = answer.lost_browser
        result = _lost_result(flight, lost) if answer is None else answer.result
        made = self._retries.result_or_retry(flight.job, result, "" if self.ended_early else lost)
        if made is None:
            self._waiting.appendleft(flight.job)
            return
        _write_files(flight.job.suite_folder, files)
        yield made


def _library() -> Any:  # noqa: ANN401 - its types are too narrow for what it documents
    return import_module("ray")


def _connect(address: str | None, workers: int) -> None:
    ray = _library()
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error", "include_dashboard": False}
    try:
        if address is None:
            ray.init(num_cpus=workers, runtime_env={"env_vars": _ENVIRONMENT}, **quiet)
        else:
            _require_port(address)
            ray.init(address=address, log_to_driver=False, logging_level="error")
    except (OSError, RuntimeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RequirementError(f"Ray cannot be reached at {address or 'this machine'}: {reason}") from error


def _require_port(address: str) -> None:
    """Check that something listens at an address with a port: Ray would try for minutes."""
    host, mark, port = address.rpartition("://")[2].rpartition(":")
    if mark and port.isdecimal():
        socket.create_connection((host, int(port)), _CONNECT_S).close()


def _start_actor() -> Any:  # noqa: ANN401 - Ray has no types for its actors
    actor_class = _library().remote(num_cpus=ACTOR_PROCESSORS, max_concurrency=REPLAYS_AT_ONCE)
    return actor_class(_ReplayActor).remote()


class _ReplayActor:
    """Makes replays, in the event loop of the actor."""

    def __init__(self) -> None:
        self._browsers = SharedBrowsers()

    async def replay(self, job: Job) -> tuple[Answer, Mapping[str, bytes]]:
        """Return the result of a job, and its artifacts by their paths in the folder of the suite."""
        with temporary_folder("ray") as folder:
            answer = await replay_job(replace(job, suite_folder=folder), self._browsers)
            return answer, _read_files(folder)


def _read_files(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _lost_result(flight: _Flight, reason: str) -> MissionResult:
    return MissionResult(
        name=flight.job.name,
        repeat=flight.job.repeat,
        tags=flight.job.tags,
        verdict="failed",
        exit_status=InternalError.exit_status,
        summary=reason,
        started_at=flight.begun_at,
        duration_ms=round((utc_now() - flight.begun_at).total_seconds() * 1000),
    )


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write artifacts; not synced to disk one by one, while the actor waits for its next replay."""
    for name, data in files.items():
        path = folder / name
        try:
            copy_file(BytesIO(data), path)
        except OSError as error:
            raise OutputError(write_error_message(path, error)) from error
