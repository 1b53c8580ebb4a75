"""`eikon suite`: replay many bundles, and merge the results of several machines."""

from __future__ import annotations

import os
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack, cast

import click

from eikon_engine.cli.command import group
from eikon_engine.cli.configured_options import (
    ConfigurationChoice,
    configuration_options,
    find_chosen_configuration,
    given_options,
    is_given,
)
from eikon_engine.cli.shared_options import (
    allow_scheme_option,
    base_url_option,
    browser_option,
    bundle_argument,
    front_end_options,
    gates_option,
    headless_choice_option,
    headless_option,
    ignore_option,
    network_option,
    on_divergence_option,
    policy_option,
    secret_options,
    timeout_option,
    variable_values_option,
)
from eikon_engine.cli.standard_streams import print_essential

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from eikon_engine.cli.suite_display import SuiteDisplay
    from eikon_engine.outcome.suite_results import MissionResult, SuiteResult
    from eikon_engine.suite import Configuration
    from eikon_engine.suite.missions import SuiteMission
    from eikon_engine.suite.run import Engine
    from eikon_engine.suite.stored_bundles import StoredBundles
    from eikon_engine.suite.stored_results import ResultsFolder

MAX_WORKERS: Final = 256


def _parse_workers(_context: click.Context, _parameter: click.Parameter, text: str) -> int:
    from eikon_engine.suite.runner import default_workers

    if text == "auto":
        return default_workers()
    if not text.isdecimal() or not 1 <= int(text) <= MAX_WORKERS:
        message = f"expected `auto` or a number from 1 to {MAX_WORKERS}, got {text!r}"
        raise click.BadParameter(message)
    return int(text)


class _PathOrUrl(click.ParamType[Path | str]):
    """A path, or the URL of a folder in object storage, which remains a text."""

    name = "path"

    def convert(self, value: object, _parameter: click.Parameter | None, _context: click.Context | None) -> Path | str:
        """Return a path, unless it is a URL."""
        from eikon_engine.suite.object_storage import is_url

        return value if isinstance(value, str) and is_url(value) else Path(str(value))


@group("suite")
def suite_command() -> None:
    """Replay many bundles as a suite, on one machine or on several."""


@suite_command.command("run", short_help="Replay bundles, several at once; write reports of all of them.")
@bundle_argument("paths", nargs=-1, required=True, type=_PathOrUrl(), metavar="BUNDLE|FOLDER|URL...|SUITE.yaml")
@click.option("--include", multiple=True, metavar="PATTERN", help="Only missions whose path fits; repeatable.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="No mission whose path fits; repeatable.")
@click.option("--tag", "tags", multiple=True, help="Only missions with this tag; repeatable, for any of several.")
@click.option("--skip-tag", "skipped_tags", multiple=True, metavar="TAG", help="No mission with this tag; repeatable.")
@click.option("--shard", metavar="N/M", help="Only part N of M; all parts take about as long.")
@click.option("--last-failed", is_flag=True, help="Only missions that were not faithful in the last run of the suite.")
@click.option("--changed-since", metavar="REV", help="Only bundles that differ from a revision of git.")
@click.option(
    "-j",
    "--workers",
    callback=_parse_workers,
    default="auto",
    show_default=True,
    metavar="N",
    help="Processes, each with a browser; `auto` is one for each processor.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Where the workers are: processes on this machine, or actors of a Ray cluster (extra `ray`).",
)
@click.option("--address", metavar="ADDRESS", help="Address of the Ray cluster.  [default: one on this machine]")
@click.option("--repeat", type=click.IntRange(1, 1000), default=1, show_default=True, help="Replays of each mission.")
@click.option("--fail-fast", is_flag=True, help="Begin nothing more after the first failure.")
@click.option(
    "--mission-timeout",
    "mission_timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Wall time of a replay; one that takes longer has failed.",
)
@click.option(
    "--suite-timeout",
    "suite_timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Wall time after which no replay begins.",
)
@click.option("--resume", is_flag=True, help="Proceed with the suite in the folder, which was interrupted.")
@click.option(
    "--artifacts-dir",
    "folder",
    type=_PathOrUrl(),
    default="suite_artifacts",
    show_default=True,
    help="Folder, or its URL in object storage, for results, reports and artifacts; that of an earlier suite is moved "
    "aside.",
)
@network_option
@base_url_option
@allow_scheme_option
@front_end_options
@policy_option
@ignore_option
@on_divergence_option("Stop each replay at its first divergence, or collect all.")
@gates_option
@timeout_option("Timeout of every action, in seconds.")
@variable_values_option
@secret_options
@headless_option
@browser_option
@configuration_options
@click.option("--report", "reports_all", is_flag=True, help="Write report.html also for faithful replays.")
@click.option("--json", "as_json", is_flag=True, help="Print suite.json on standard output.")
def run_suite_command(*, paths: tuple[Path | str, ...], as_json: bool, **chosen: Unpack[_Choices]) -> int:
    """Replay bundles, and those in folders, several at once; write reports of all of them.

    A URL is that of a folder in object storage, such as s3://bucket/traces (extra `storage`). SUITE.yaml names bundles,
    options and gates of a suite; an option that is given replaces that of the file.

    The artifacts folder gets suite.json, suite.html, triage.html, junit.xml, and the artifacts of each replay.

    Exit status: that of the worst replay: 1 one diverged, 70, 69, 78 or 65 one failed, 3 one is unverifiable or was not
    made, 0 all are faithful; 2 usage, 5 no mission is selected, 130 interrupted.
    """
    from eikon_engine.cli.suite_display import SuiteDisplay
    from eikon_engine.errors import NoMissionsError, OutputError
    from eikon_engine.report.suite_report import render_suite_text
    from eikon_engine.suite.run import SuiteOptions, run_suite
    from eikon_engine.suite.suite_file import choose_suite

    context = click.get_current_context()
    suite_file = choose_suite(paths)
    of_file = {name: value for name, value in suite_file.options.items() if not is_given(context, name)}
    chosen = cast("_Choices", {**chosen, **of_file})
    given = given_options(context)
    configured = _ConfiguredMissions(chosen["configuration"], _replay_settings(chosen), given)
    missions = _select(suite_file.paths, chosen, configured)
    results = _open_results(chosen["folder"], resumes=chosen["resume"])
    options = SuiteOptions(
        folder=results.folder,
        workers=chosen["workers"],
        engine=chosen["engine"],
        address=chosen["address"],
        repeat=chosen["repeat"],
        shard=chosen["shard"] or "",
        resume=chosen["resume"],
        fail_fast=chosen["fail_fast"],
        mission_timeout_s=chosen["mission_timeout_s"],
        suite_timeout_s=chosen["suite_timeout_s"],
        reports_all=chosen["reports_all"],
        settings=configured.fingerprint(),
        gates=suite_file.gates,
        quarantines={**_quarantines(), **configured.quarantines(missions)},
    )
    with SuiteDisplay(len(missions) * options.repeat) as display:

        def on_result(result: MissionResult) -> None:
            display.show(result)
            _remember(results, result, display)
            results.add(result)

        suite = _run_to_completion(
            results, display.print_line, partial(run_suite, missions, options, configured.settings_of, on_result)
        )
    _print_suite(suite, results.name, as_json=as_json, text=render_suite_text(suite))
    if not missions:
        return NoMissionsError.exit_status
    return suite.exit_status or (OutputError.exit_status if results.failure else 0)


@suite_command.command("merge", short_help="Make one report of the results of several shards.")
@click.argument("results", nargs=-1, required=True, type=_PathOrUrl(), metavar="RESULTS...")
@click.option(
    "--artifacts-dir",
    "folder",
    required=True,
    type=_PathOrUrl(),
    help="Folder for the merged reports, or its URL if all RESULTS are URLs.",
)
@click.option("--force", is_flag=True, help="Replace the reports that exist in the folder, which is refused otherwise.")
@click.option("--json", "as_json", is_flag=True, help="Print suite.json on standard output.")
def merge_command(*, results: tuple[Path | str, ...], folder: Path | str, force: bool, as_json: bool) -> int:
    """Make one report of the RESULTS of several shards: folders of suites, their suite.json, or their URLs.

    Exit status: that of the worst replay, as of `suite run`; 2 usage, 65 results that cannot be read.
    """
    from eikon_engine.errors import OutputError, UsageError
    from eikon_engine.report.suite_report import render_suite_text
    from eikon_engine.suite.results import SUITE_FILE, merge_suites
    from eikon_engine.suite.run import write_suite

    if isinstance(folder, Path) and (folder / SUITE_FILE).exists():
        if not force:
            message = f"{folder}: expected a folder without results, got those of a suite; add --force to replace them"
            raise OutputError(message)
        if any(
            isinstance(each, Path) and each.resolve() in {folder.resolve(), (folder / SUITE_FILE).resolve()}
            for each in results
        ):
            raise UsageError(f"--force: {folder} is what the command reads; choose another --artifacts-dir")
    local = next((each for each in results if isinstance(each, Path)), None)
    if isinstance(folder, str) and local is not None:
        raise UsageError(f"{folder}: expected the URLs of results to merge there, got {local}")
    merged = _open_results(folder, resumes=False)

    def merge() -> SuiteResult:
        parts = [_read_part(each, merged.folder / "shards" / str(number)) for number, each in enumerate(results, 1)]
        suite = merge_suites(parts, merged.folder)
        write_suite(merged.folder, suite)
        return suite

    suite = _run_to_completion(merged, partial(click.echo, err=True), merge)
    _print_suite(suite, merged.name, as_json=as_json, text=render_suite_text(suite))
    return suite.exit_status or (OutputError.exit_status if merged.failure else 0)


@suite_command.command("record", short_help="Record scripts and tests, several at once.")
@click.argument("scripts", nargs=-1, required=True, metavar="SCRIPT...")
@click.option(
    "-o",
    "--output",
    "folder",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Folder for the bundles.",
)
@click.option("--force", is_flag=True, help="Replace bundles that exist there, which is refused otherwise.")
@headless_choice_option("as the script asks")
@click.option(
    "-j",
    "--workers",
    callback=_parse_workers,
    default="auto",
    show_default=True,
    metavar="N",
    help="Scripts at once; `auto` is one for each processor.",
)
@click.option("--no-certify", is_flag=True, help="Do not certify the recordings.")
@click.option("--secret-file", type=click.Path(path_type=Path), help="File of NAME=VALUE lines with secrets.")
def record_command(
    *, scripts: tuple[str, ...], folder: Path, force: bool, workers: int, **chosen: Unpack[_RecorderOptions]
) -> int:
    """Record each SCRIPT, or test (`test_shop.py::test_order`), as `eikon record --script` does, several at once.

    Each becomes a bundle in the folder, named as the script, with a log beside it.

    Exit status: 0 all are recorded, and certified unless --no-certify; else that of the worst: 1 not certified; the
    exit status of a script that failed; 2 usage; 130 interrupted.
    """
    from eikon_engine.outcome.suite_results import worst_status
    from eikon_engine.outcome.terminal import safe_line
    from eikon_engine.suite.record import record_scripts

    arguments = [
        *(["--force"] if force else []),
        *([] if chosen["headless"] is None else ["--headless" if chosen["headless"] else "--headed"]),
        *(["--no-certify"] if chosen["no_certify"] else []),
        *(["--secret-file", str(chosen["secret_file"])] if chosen["secret_file"] else []),
    ]
    done = []
    for each in record_scripts(scripts, folder, workers, arguments, replaces=force):
        done.append(each)
        word = "recorded" if each.exit_status == 0 else f"failed ({each.exit_status})"
        line = f"{word:<12} {each.script}  {each.seconds:.1f} s  {each.summary}"
        if each.exit_status == 0:
            click.echo(safe_line(line))
        else:
            print_essential(safe_line(line))
    failed = sum(each.exit_status != 0 for each in done)
    click.echo(f"{len(done)} scripts: {len(done) - failed} recorded, {failed} failed; logs: {folder}/*.log")
    return worst_status(each.exit_status for each in done)


class _RecorderOptions(TypedDict):
    """Options of `suite record` that are those of `eikon record`."""

    headless: bool | None
    no_certify: bool
    secret_file: Path | None


class _Choices(TypedDict):
    """Options of `suite run`."""

    include: tuple[str, ...]
    exclude: tuple[str, ...]
    tags: tuple[str, ...]
    skipped_tags: tuple[str, ...]
    shard: str | None
    last_failed: bool
    changed_since: str | None
    workers: int
    engine: Engine
    address: str | None
    repeat: int
    fail_fast: bool
    mission_timeout_s: float | None
    suite_timeout_s: float | None
    resume: bool
    folder: Path | str
    network: str | None
    base_urls: dict[str, str]
    allow_schemes: tuple[str, ...]
    front_end: tuple[str, ...]
    back_end: tuple[str, ...]
    on_divergence: str
    gates: object
    policy: str
    masks: tuple[object, ...]
    timeout: float | None
    variables: dict[str, str]
    secrets: tuple[str, ...]
    secret_file: Path | None
    headless: bool
    browser_path: Path | None
    configuration: ConfigurationChoice
    reports_all: bool


class _ConfiguredMissions:
    """What is configured for missions, each by the configuration nearest to its bundle, below what was chosen."""

    def __init__(self, choice: ConfigurationChoice, options: Mapping[str, Any], given: frozenset[str]) -> None:
        self._choice = choice
        self._options = options
        self._given = given
        self._by_bundle: dict[Path, Configuration | None] = {}
        self._by_file: dict[Path, Configuration] = {}

    def fingerprint(self) -> dict[str, str]:
        """Return what results depend on, without secrets."""
        options = {name: repr(value) for name, value in self._options.items() if name != "secrets"}
        return {**options, "environment": self._choice.environment or ""}

    def tags_of(self, bundle: Path) -> frozenset[str]:
        """Return the tags of a bundle."""
        found = self._find(bundle)
        return frozenset() if found is None else found.settings_for(bundle, self._choice.environment).tags

    def settings_of(self, mission: SuiteMission) -> Mapping[str, Any]:
        """Return the arguments of `ReplayOptions`; a bundle that cannot be read fails when it is replayed."""
        from eikon_engine.errors import TraceError
        from eikon_engine.suite.replay_settings import resolve_replay_settings
        from eikon_engine.trace.bundle import open_bundle

        place = mission.configured_at or mission.bundle
        found = self._find(place)
        if found is None:
            return self._options
        settings = found.settings_for(place, self._choice.environment)
        try:
            bundle = open_bundle(mission.bundle)
        except TraceError:
            return self._options
        resolved = resolve_replay_settings(settings, bundle, self._options, self._given)
        return {name: value for name, value in resolved.items() if name != "artifacts_dir"}

    def quarantines(self, missions: Iterable[SuiteMission]) -> dict[str, str]:
        """Return why missions are in quarantine, as the configuration says."""
        from eikon_engine.files.wall_clock import utc_now
        from eikon_engine.suite.missions import mission_id_of

        today, reasons = utc_now().date(), {}
        for mission in missions:
            found = self._find(mission.configured_at or mission.bundle)
            if found is not None:
                name = mission_id_of(mission.bundle)
                held = found.quarantine_of(name, today)
                reasons.update({} if held is None else {name: f"{held.reason}, until {held.until}"})
        return reasons

    def files(self) -> tuple[Path, ...]:
        """Return the files of the configurations that were found."""
        return tuple({found.path for found in self._by_bundle.values() if found is not None})

    def _find(self, bundle: Path) -> Configuration | None:
        if bundle not in self._by_bundle:
            self._by_bundle[bundle] = find_chosen_configuration(self._choice, bundle, self._by_file)
        return self._by_bundle[bundle]


def _select(paths: Sequence[Path | str], chosen: _Choices, configured: _ConfiguredMissions) -> tuple[SuiteMission, ...]:
    """Find the missions, choose those to replay, and download them if they are in object storage."""
    from eikon_engine.files.state_folder import cache_folder
    from eikon_engine.suite.missions import Selection, Shard, shard_missions
    from eikon_engine.suite.stored_bundles import StoredBundles

    shard = Shard.parse(chosen["shard"]) if chosen["shard"] else None
    stored = StoredBundles(cache_folder(Path.home(), os.environ))
    missions = _find_missions(paths, stored, configured)
    selection = Selection(
        include=chosen["include"],
        exclude=chosen["exclude"],
        tags=frozenset(chosen["tags"]),
        skipped_tags=frozenset(chosen["skipped_tags"]),
        names=_chosen_names(missions, chosen, configured),
    )
    selected = selection.choose(missions)
    part = selected if shard is None else shard_missions(selected, shard, stored.seconds_of(selected))
    stored.download(part)
    _require_own_ids(selected)
    return part


def _find_missions(
    paths: Sequence[Path | str], stored: StoredBundles, configured: _ConfiguredMissions
) -> tuple[SuiteMission, ...]:
    """Return the missions on this machine and those in object storage, without duplicates."""
    from eikon_engine.suite.missions import find_missions

    found: dict[str, SuiteMission] = {}
    local = [path for path in paths if isinstance(path, Path)]
    for mission in find_missions(local, configured.tags_of) if local else ():
        found[mission.name] = mission
    for url in (path for path in paths if isinstance(path, str)):
        for mission in stored.find(url, configured.tags_of):
            found.setdefault(mission.name, mission)
    return tuple(found.values())


def _chosen_names(
    missions: Sequence[SuiteMission], chosen: _Choices, configured: _ConfiguredMissions
) -> frozenset[str] | None:
    """Return the names that --last-failed and --changed-since choose; None for all.

    Raises:
        UsageError: bundles in object storage are to be compared with a revision of git.
    """
    from eikon_engine.errors import UsageError
    from eikon_engine.suite.missions import changed_missions
    from eikon_engine.suite.results import failed_names, planned_names

    names: frozenset[str] | None = None
    folder = chosen["folder"]
    if chosen["last_failed"] and chosen["resume"] and isinstance(folder, Path):
        names = planned_names(folder)
    elif chosen["last_failed"]:
        names = failed_names(_read_last_suite(folder))
    if chosen["changed_since"]:
        stored = next((each.name for each in missions if each.configured_at is not None), None)
        if stored is not None:
            raise UsageError(f"--changed-since expected bundles in a working tree of git, got {stored}")
        changed = changed_missions(missions, chosen["changed_since"], configured.files())
        names = changed if names is None else names & changed
    return names


def _read_part(place: Path | str, folder: Path) -> tuple[Path, SuiteResult]:
    """Return the results of a shard, and the folder of their artifacts: `folder`, if they are downloaded."""
    from eikon_engine.suite.results import read_suite
    from eikon_engine.suite.stored_results import download_results

    if isinstance(place, str):
        return folder, download_results(place, folder)
    return place if place.is_dir() else place.parent, read_suite(place)


def _read_last_suite(place: Path | str) -> SuiteResult:
    from eikon_engine.suite.results import read_suite
    from eikon_engine.suite.stored_results import read_stored_suite

    return read_suite(place) if isinstance(place, Path) else read_stored_suite(place)


def _open_results(place: Path | str, *, resumes: bool) -> ResultsFolder:
    """Return the folder of a suite, on this machine or in object storage."""
    from eikon_engine.files.state_folder import cache_folder
    from eikon_engine.suite.stored_results import ResultsFolder, StoredResultsFolder

    if isinstance(place, Path):
        return ResultsFolder(place)
    return StoredResultsFolder(place, cache_folder(Path.home(), os.environ), resumes=resumes)


def _run_to_completion(
    results: ResultsFolder, print_line: Callable[[str], object], run: Callable[[], SuiteResult]
) -> SuiteResult:
    """Run or merge a suite, and keep what that wrote, whatever ends it."""
    try:
        with results.completing():
            return run()
    finally:
        if results.failure:
            print_line(results.failure)


def _require_own_ids(missions: Sequence[SuiteMission]) -> None:
    """Check that no two bundles are of one mission: their histories would mix.

    Raises:
        UsageError: two are.
    """
    from eikon_engine.errors import UsageError
    from eikon_engine.suite.missions import mission_id_of

    by_id: defaultdict[str, list[str]] = defaultdict(list)
    for mission in missions:
        by_id[mission_id_of(mission.bundle)].append(mission.name)
    for name, bundles in by_id.items():
        if name and len(bundles) > 1:
            message = (
                f"mission {name!r} is in {bundles[0]} and in {bundles[1]}, and their histories would mix; "
                "leave one out with --exclude, or record it under another mission id"
            )
            raise UsageError(message)


def _replay_settings(chosen: _Choices) -> Mapping[str, Any]:
    """Return the arguments of `ReplayOptions` that were chosen."""
    from eikon_engine.secrets.sources import collect_bound_secrets

    timeout = chosen["timeout"]
    provided = collect_bound_secrets(chosen["secrets"], chosen["secret_file"])
    return {
        "network": chosen["network"],
        "allow_schemes": chosen["allow_schemes"],
        "base_urls": chosen["base_urls"],
        "front_end": chosen["front_end"],
        "back_end": chosen["back_end"],
        "on_divergence": chosen["on_divergence"],
        "gates": chosen["gates"],
        "policy": chosen["policy"],
        "masks": chosen["masks"],
        "timeout_ms": None if timeout is None else timeout * 1000,
        "variables": chosen["variables"],
        "secrets": provided.values,
        "secret_origins": provided.origins,
        "headless": chosen["headless"],
        "browser_path": chosen["browser_path"],
    }


def _quarantines() -> dict[str, str]:
    """Return why missions are in quarantine, as the history says; one that cannot be read stops no suite."""
    from eikon_engine.cli.history import read_quarantines
    from eikon_engine.errors import HistoryError

    try:
        held = read_quarantines()
    except HistoryError as error:
        click.echo(f"history: {error.message}; no mission counts as in quarantine by it", err=True)
        return {}
    return {each.mission_id: f"{each.reason}, until {each.until}" for each in held}


def _remember(results: ResultsFolder, result: MissionResult, display: SuiteDisplay) -> None:
    """Keep a replay in the history."""
    from eikon_engine.cli.history import remember_replay
    from eikon_engine.errors import TraceError
    from eikon_engine.gates.event_sources import read_outcome
    from eikon_engine.replay.artifacts import OUTCOME_FILE

    file = results.folder / result.artifacts / OUTCOME_FILE
    if not result.artifacts:
        return
    try:
        outcome = read_outcome(file)
    except TraceError as error:
        display.print_line(error.message)
        return
    remember_replay(outcome, results.locate(f"{result.artifacts}/{OUTCOME_FILE}"), display.print_line)


def _print_suite(suite: SuiteResult, folder: str, *, as_json: bool, text: str) -> None:
    from eikon_engine.suite.results import SUITE_PAGE

    if as_json:
        click.echo(suite.model_dump_json(indent=1))
        return
    click.echo(text, nl=False)
    click.echo(f"report: {folder.rstrip('/')}/{SUITE_PAGE}")
