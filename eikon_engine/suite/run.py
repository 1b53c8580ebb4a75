"""Run a suite from its missions to its reports: suite.json, suite.html, triage.html and junit.xml in its folder."""

from __future__ import annotations

import hashlib
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from eikon_engine.browser.executable import require_open_files
from eikon_engine.errors import TraceError
from eikon_engine.files.limits import read_file
from eikon_engine.files.paths import safe_file_name
from eikon_engine.files.wall_clock import utc_now
from eikon_engine.files.writing import write_atomically
from eikon_engine.gates.event_sources import read_outcome
from eikon_engine.outcome.suite_results import PlannedReplay, SuiteGates
from eikon_engine.replay.artifacts import OUTCOME_FILE
from eikon_engine.report.replay_reports import REPORT_FILE
from eikon_engine.report.suite_report import render_suite_junit, render_suite_page
from eikon_engine.report.triage_report import find_report, render_triage_page
from eikon_engine.suite.results import JUNIT_FILE, SUITE_FILE, SUITE_PAGE, SuiteJournal, SuitePlan
from eikon_engine.suite.runner import SuiteRunner
from eikon_engine.suite.worker import Job
from eikon_engine.trace.trace_file import TRACE_FILE
from eikon_engine.triage.groups import TriageBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from eikon_engine.outcome.suite_results import MissionResult, SuiteResult
    from eikon_engine.outcome.triage import Triage
    from eikon_engine.suite.missions import SuiteMission
    from eikon_engine.suite.runner import Runner

Engine: TypeAlias = Literal["local", "ray"]
TRIAGE_PAGE: Final = "triage.html"
INTERRUPTED: Final = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteOptions:
    """How a suite is run."""

    folder: Path
    workers: int
    engine: Engine = "local"
    address: str | None = None
    """Address of a Ray cluster; None for one on this machine."""
    repeat: int = 1
    """Replays of each mission."""
    shard: str = ""
    resume: bool = False
    """Whether to proceed with the suite in the folder, which was interrupted."""
    fail_fast: bool = False
    """Whether nothing more begins after a failure that counts."""
    mission_timeout_s: float | None = None
    """Wall time of a replay."""
    suite_timeout_s: float | None = None
    """Wall time after which no further replay begins."""
    reports_all: bool = False
    """Whether a faithful replay has a report, too."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """What results depend on, as it is compared when a suite is resumed; without secrets."""
    gates: SuiteGates = field(default_factory=SuiteGates)
    quarantines: Mapping[str, str] = field(default_factory=dict)
    """Why failures of a mission count for nothing, by mission id."""


def run_suite(
    missions: Sequence[SuiteMission],
    options: SuiteOptions,
    settings_of: Callable[[SuiteMission], Mapping[str, Any]],
    on_result: Callable[[MissionResult], None],
) -> SuiteResult:
    """Replay missions, and write the reports; these are written also if the suite is interrupted.

    `settings_of` returns the arguments of `ReplayOptions` for a mission; `on_result` is called with each new result.

    Raises:
        UsageError: there is no suite to resume.
        OutputError: the folder cannot be written.
    """
    jobs = _plan_jobs(missions, options, settings_of)
    plan = SuitePlan(
        shard=options.shard,
        started_at=utc_now(),
        planned=tuple(PlannedReplay(name=job.name, repeat=job.repeat, digest=_digest(job)) for job in jobs),
        settings=dict(options.settings),
    )
    end = _SuiteEnd(options)
    runner = _runner(options, end.reason)
    journal = (SuiteJournal.resume if options.resume else SuiteJournal.create)(options.folder, plan)
    done = {each.key for each in journal.results}
    ended_early = INTERRUPTED
    try:
        for found in runner.run(job for job in jobs if (job.name, job.repeat) not in done):
            result = found.model_copy(update={"quarantine": options.quarantines.get(found.mission_id, "")})
            journal.add(result)
            end.note(result)
            on_result(result)
        ended_early = runner.ended_early
    finally:
        suite = journal.summary(utc_now(), ended_early).model_copy(update={"gates": options.gates})
        journal.close()
        write_suite(options.folder, suite)
    return suite


def write_suite(folder: Path, suite: SuiteResult) -> None:
    """Write the results of a suite, and its reports.

    Raises:
        OutputError: a file cannot be written.
    """
    triage = triage_suite(folder, suite)
    reports = {each.artifacts for each in suite.results if (folder / each.artifacts / REPORT_FILE).is_file()} - {""}
    for name, text in (
        (JUNIT_FILE, render_suite_junit(suite)),
        (SUITE_PAGE, render_suite_page(suite, triage, reports)),
        (TRIAGE_PAGE, render_triage_page(triage, lambda path: find_report(folder / path, folder))),
        (SUITE_FILE, suite.model_dump_json(indent=1) + "\n"),
    ):
        write_atomically(folder / name, text.encode("utf-8", "surrogatepass"))


def triage_suite(folder: Path, suite: SuiteResult) -> Triage:
    """Group the replays that failed by their causes."""
    builder = TriageBuilder()
    for each in suite.results:
        if not each.artifacts or each.exit_status == 0:
            continue
        path = f"{each.artifacts}/{OUTCOME_FILE}"
        try:
            builder.add(path, read_outcome(folder / path), (folder / path).parent)
        except TraceError as error:
            builder.add_unreadable(path, error.message.removeprefix(f"{folder / path}: "))
    return builder.build()


class _SuiteEnd:
    """Whether a suite is over before all of its missions were replayed."""

    def __init__(self, options: SuiteOptions) -> None:
        self._fails_fast = options.fail_fast
        self._timeout_s = options.suite_timeout_s
        self._begun = time.monotonic()
        self._failure = ""

    def note(self, result: MissionResult) -> None:
        """Note a result."""
        if self._fails_fast and result.counts_as_failure and not self._failure:
            self._failure = f"--fail-fast after {result.name}"

    def reason(self) -> str:
        """Return why nothing more is to begin; empty if it is."""
        is_late = self._timeout_s is not None and time.monotonic() > self._begun + self._timeout_s
        return f"the suite took more than {self._timeout_s:g} s" if is_late else self._failure


def _runner(options: SuiteOptions, should_stop: Callable[[], str]) -> Runner:
    if options.engine == "local":
        require_open_files()
        return SuiteRunner(options.workers, should_stop=should_stop)
    from eikon_engine.suite.ray_runner import RayRunner  # noqa: PLC0415 - an extra

    return RayRunner(options.workers, options.address, should_stop=should_stop)


def _plan_jobs(
    missions: Sequence[SuiteMission], options: SuiteOptions, settings_of: Callable[[SuiteMission], Mapping[str, Any]]
) -> tuple[Job, ...]:
    """Return the jobs of a suite: all missions, then all of them again."""
    folders = _folders(mission.name for mission in missions)
    settings = {mission.name: settings_of(mission) for mission in missions}
    repeated = [(repeat, mission) for repeat in range(1, options.repeat + 1) for mission in missions]
    return tuple(
        Job(
            number=number,
            name=mission.name,
            bundle=mission.bundle,
            repeat=repeat,
            suite_folder=options.folder.absolute(),
            artifacts=folders[mission.name] if options.repeat == 1 else f"{folders[mission.name]}/replay_{repeat}",
            tags=tuple(sorted(mission.tags)),
            settings=settings[mission.name],
            reports_all=options.reports_all,
            timeout_s=options.mission_timeout_s,
        )
        for number, (repeat, mission) in enumerate(repeated)
    )


def _digest(job: Job) -> str:
    """Return the digest of the trace of a job, and of its settings but the values of secrets."""
    digest = hashlib.sha256()
    with suppress(OSError):
        digest.update(read_file(job.bundle / TRACE_FILE, root=job.bundle))
    settings = {name: value for name, value in job.settings.items() if name not in {"secrets", "missing_secrets"}}
    digest.update(repr(sorted(settings.items())).encode("utf-8", "replace"))
    return digest.hexdigest()


def _folders(names: Iterable[str]) -> dict[str, str]:
    """Return a folder for each mission, named as its bundle, with a number where that is taken."""
    taken: dict[str, str] = {}
    for name in names:
        wanted = "/".join(safe_file_name(part, "_") for part in name.split("/") if part)
        number, folder = 1, f"missions/{wanted}"
        while folder in taken.values():
            number += 1
            folder = f"missions/{wanted}.{number}"
        taken[name] = folder
    return taken
