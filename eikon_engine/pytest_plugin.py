"""The plugin for pytest: bundles as tests, and fixtures that replay, record and rerun skills.

Loaded by each run of pytest where the package is installed, so it imports the rest when it is used.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from anyio.from_thread import BlockingPortal

    from eikon_engine.outcome.outcomes import ReplayOutcome
    from eikon_engine.outcome.suite_results import MissionResult
    from eikon_engine.record import AgentMission, AttachOptions
    from eikon_engine.replay.engine import SharedBrowsers
    from eikon_engine.suite import BundleSettings, Configuration
    from eikon_engine.suite.worker import Answer, Job

OUTCOME_FILE: Final = "outcome.json"
"""Artifacts of replays have it, and may contain snapshots as bundles do."""
ITEM: Final = "replay"
SNAPSHOTS: Final = "__skill_snapshots__"
"""Folder beside a test file with the outputs of skills."""
DEFAULT_OUTPUT: Final = "test-results"
"""Folder of artifacts, unless `--output` of pytest-playwright or the ini option names another one."""
NETWORKS: Final = ("sealed", "live", "snapshot", "recorded-api")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options of the command line and of the ini file."""
    group = parser.getgroup("eikon", "replays of recorded browser missions")
    group.addoption("--eikon", action="store_true", help="Replay the bundles in and below the given paths.")
    group.addoption("--eikon-network", choices=NETWORKS, help="Source of responses, as of `eikon replay`.")
    group.addoption("--eikon-policy", choices=("strict", "effects"), help="What counts as divergence.")
    group.addoption("--eikon-env", metavar="NAME", help="Environment of the configuration, as --env of `eikon replay`.")
    group.addoption(
        "--eikon-update",
        metavar="REASON",
        help="Make what live replays showed the baseline of further ones, and outputs of skills the stored ones.",
    )
    group.addoption(
        "--eikon-allow-unverifiable",
        action="store_true",
        help="Pass if nothing diverged but something is unverifiable.",
    )
    parser.addini("eikon", "Whether bundles are tests also without --eikon.", type="bool", default=False)
    parser.addini("eikon_network", "Default of --eikon-network.", default="")
    parser.addini("eikon_policy", "Default of --eikon-policy.", default="")
    parser.addini("eikon_output", "Folder of artifacts.", default="")
    parser.addini("eikon_mission_timeout", "Wall time of a replay, in seconds.", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Let the trace.json of a bundle stand for the bundle, as in commands."""
    if _is_on(config):
        config.args = [_bundle_argument(each) for each in config.args]


def _bundle_argument(argument: str) -> str:
    from eikon_engine.trace.trace_file import TRACE_FILE

    path = Path(argument)
    return str(path.parent) if path.name == TRACE_FILE and path.is_file() else argument


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Collect bundles whatever their folders are called, also where pytest would not look for tests."""
    return False if _is_on(config) and _Replays.of(config).is_bundle(collection_path) else None


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect a bundle as one item; nothing inside it is looked at."""
    is_ours = _is_on(parent.config) and _Replays.of(parent.config).is_bundle(path)
    return BundleFolder.from_parent(parent, path=path) if is_ours else None


def _is_on(config: pytest.Config) -> bool:
    return bool(config.getoption("eikon") or config.getini("eikon"))


class BundleFolder(pytest.File):
    """A bundle: for pytest a file, so that no conftest.py is searched in it."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the one item."""
        from eikon_engine.errors import EikonError

        item: BundleItem = BundleItem.from_parent(self, name=ITEM)
        try:
            markers = _Replays.of(self.config).markers_of(self.path)
        except EikonError as error:
            raise self.CollectError(error.message) from error
        for marker in markers:
            item.add_marker(marker)
        yield item


class BundleItem(pytest.Item):
    """The replay of a bundle."""

    def runtest(self) -> None:
        """Replay it.

        Raises:
            ReplayFailed: it is not faithful.
        """
        bundle = self.path
        name = bundle.relative_to(self.config.rootpath) if bundle.is_relative_to(self.config.rootpath) else bundle
        made = _Replays.of(self.config).replay(name.as_posix(), bundle, {})
        self.user_properties.append(("eikon_verdict", made.result.verdict))
        if made.result.retried:
            self.user_properties.append(("eikon_retried", made.result.retried))
        made.require_faithful(allow_unverifiable=bool(self.config.getoption("eikon_allow_unverifiable")))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:  # noqa: ANN401
        """Return the explanation instead of a traceback."""
        from eikon_engine.errors import EikonError

        if isinstance(excinfo.value, ReplayFailed):
            return str(excinfo.value)
        if isinstance(excinfo.value, EikonError):
            return excinfo.value.message
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return where the bundle is."""
        return self.path, None, f"replay of {self.path.name}"


class ReplayFailed(AssertionError):  # noqa: N818 - a failed test, as pytest names its own
    """A replay that is not faithful, with its explanation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """A replay that was made."""

    result: MissionResult
    folder: Path
    """Its artifacts."""
    outcome: ReplayOutcome | None
    """None if it had none."""

    def require_faithful(self, *, allow_unverifiable: bool) -> None:
        """Fail unless it is faithful."""
        __tracebackhide__ = True
        result = self.result
        if result.exit_status == 0 or (allow_unverifiable and result.verdict == "unverifiable"):
            return
        raise ReplayFailed("\n".join(self._lines()))

    def _lines(self) -> Iterator[str]:
        yield f"replay of {self.result.name}: {self.result.verdict}"
        yield self.result.summary
        first = None if self.outcome is None else next(iter(self.outcome.divergences), None)
        if first is not None:
            yield f"  expected {first.expected}"
            yield f"  observed {first.observed}"
        report = self.folder / "report.html"
        if self.outcome is not None and report.is_file():
            yield f"report: {report}"


@dataclass(slots=True)
class _Replays:
    """The replays of a session, in a loop of their own beside the loop of Playwright's fixtures."""

    config: pytest.Config
    stack: ExitStack = field(default_factory=ExitStack)
    portal: BlockingPortal | None = None
    browsers: SharedBrowsers | None = None
    made: int = 0
    bundles: dict[Path, bool] = field(default_factory=dict)
    """Whether a folder is a bundle; pytest asks twice."""
    files: dict[Path, Path | None] = field(default_factory=dict)
    """The configuration of each folder."""
    configurations: dict[Path, Configuration] = field(default_factory=dict)
    markers: dict[str, pytest.MarkDecorator] = field(default_factory=dict)
    """The marker of each tag."""

    @classmethod
    def of(cls, config: pytest.Config) -> _Replays:
        """Return those of a session."""
        found = config.stash.get(_REPLAYS, None)
        if found is None:
            found = config.stash[_REPLAYS] = cls(config)
            config.add_cleanup(found.stack.close)
        return found

    def replay(self, name: str, bundle: Path, settings: dict[str, Any]) -> _Made:
        """Replay a bundle; once more if its browser was lost."""
        from eikon_engine.files.paths import safe_file_name
        from eikon_engine.gates.event_sources import read_outcome
        from eikon_engine.suite.worker import Job

        self.made += 1
        job = Job(
            number=self.made,
            name=name,
            bundle=bundle,
            repeat=1,
            suite_folder=self._output(),
            artifacts="/".join(_folder_name(safe_file_name(part, "_"), part) for part in name.split("/") if part),
            settings=self._settings(bundle, settings),
            reports_all=_option(self.config, "screenshot") == "on",
            timeout_s=_timeout_s(self.config),
        )
        answer = self._run(job)
        if answer.lost_browser:
            again = self._run(job)
            answer = replace(again, result=again.result.model_copy(update={"retried": answer.lost_browser}))
        folder = job.suite_folder / job.artifacts
        outcome = read_outcome(folder / OUTCOME_FILE) if (folder / OUTCOME_FILE).is_file() else None
        if outcome is not None and outcome.started_at < answer.result.started_at:
            outcome = None  # that of an earlier run: this one ended before it had any
        made = _Made(result=answer.result, folder=folder, outcome=outcome)
        _keep_viewer_trace(made, bundle, _option(self.config, "tracing"))
        _accept(made, bundle, self.config.getoption("eikon_update"))
        return made

    def _run(self, job: Job) -> Answer:
        from eikon_engine.interrupts import open_portal
        from eikon_engine.replay.engine import SharedBrowsers
        from eikon_engine.suite.worker import replay_job

        if self.portal is None:
            self.portal = self.stack.enter_context(open_portal())
            self.browsers = self.stack.enter_context(self.portal.wrap_async_context_manager(SharedBrowsers()))
        assert self.browsers is not None  # noqa: S101 - opened with the portal
        running = self.portal.start_task_soon(replay_job, job, self.browsers)
        try:
            return running.result()
        except BaseException:
            running.cancel()
            raise

    def is_bundle(self, path: Path) -> bool:
        """Return whether a path is a bundle; artifacts of a replay are not."""
        from eikon_engine.trace.find_bundles import is_bundle

        if path not in self.bundles:
            self.bundles[path] = is_bundle(path) and not (path / OUTCOME_FILE).exists()
        return self.bundles[path]

    def markers_of(self, bundle: Path) -> tuple[pytest.MarkDecorator, ...]:
        """Return the markers of a bundle: its tags in eikon.toml, sorted."""
        configuration = self._configuration(bundle)
        tags = () if configuration is None else sorted(configuration.tags_of(bundle))
        for tag in tags:
            if tag not in self.markers:
                self.config.addinivalue_line("markers", f"{tag}: bundles with this tag in eikon.toml")
                self.markers[tag] = getattr(pytest.mark, tag)
        return tuple(self.markers[tag] for tag in tags)

    def _configured(self, bundle: Path) -> BundleSettings | None:
        """Return what eikon.toml says about a bundle; None without one."""
        configuration = self._configuration(bundle)
        return None if configuration is None else configuration.settings_for(bundle, self._environment)

    @property
    def _environment(self) -> str | None:
        name: str | None = self.config.getoption("eikon_env")
        return name

    def _configuration(self, bundle: Path) -> Configuration | None:
        from eikon_engine.suite.configuration_search import find_configuration

        file = find_configuration(bundle, self.files)
        if file is None and self._environment is not None:
            raise pytest.UsageError(f"--eikon-env {self._environment} requires a configuration, got none for {bundle}")
        if file is None:
            return None
        if file not in self.configurations:
            from eikon_engine.suite.configuration import read_configuration

            configuration = read_configuration(file)
            configuration.settings_for(None, self._environment)  # refuses an unknown environment
            self.configurations[file] = configuration
        return self.configurations[file]

    def _settings(self, bundle: Path, given: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of `ReplayOptions`: what is given, then what is chosen, then what is configured.

        Values of secrets are from the variables of the environment that `eikon replay` reads, too.
        """
        from eikon_engine.secrets.sources import collect_secrets

        config = self.config
        chosen = {
            "network": config.getoption("eikon_network") or config.getini("eikon_network") or None,
            "policy": config.getoption("eikon_policy") or config.getini("eikon_policy") or None,
            "headless": False if _option(config, "headed") else None,
            "browser_path": _channel_path(_option(config, "browser_channel")),
        }
        settings = self._configured(bundle)
        network = given.get("network") or chosen["network"] or (None if settings is None else settings.replay.network)
        base_url = _option(config, "base_url")
        if base_url and network in {"live", "recorded-api"}:
            chosen["base_urls"] = {_recorded_origin(bundle): base_url}
        secrets = {"secrets": {**collect_secrets((), None), **given.get("secrets", {})}}
        chosen = {name: value for name, value in chosen.items() if value is not None} | given | secrets
        if settings is None:
            return chosen
        from eikon_engine.suite.replay_settings import resolve_replay_settings
        from eikon_engine.trace.bundle import open_bundle

        resolved = resolve_replay_settings(settings, open_bundle(bundle), chosen, frozenset(chosen))
        return {name: value for name, value in resolved.items() if name != "artifacts_dir"}

    def _output(self) -> Path:
        folder: str = self.config.getini("eikon_output") or _option(self.config, "output") or DEFAULT_OUTPUT
        worker: str = getattr(self.config, "workerinput", {}).get("workerid", "")  # of xdist
        return self.config.rootpath / folder / "eikon" / worker


def _folder_name(safe: str, name: str) -> str:
    """Return the name of a folder; other names that are as safe have another one."""
    return safe if safe == name else f"{safe}-{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()[:6]}"


def _timeout_s(config: pytest.Config) -> float | None:
    text: str = config.getini("eikon_mission_timeout")
    try:
        return float(text) if text else None
    except ValueError as error:
        raise pytest.UsageError(f"eikon_mission_timeout: expected a number of seconds, got {text!r}") from error


_REPLAYS: Final = pytest.StashKey[_Replays]()


def _option(config: pytest.Config, name: str) -> Any:  # noqa: ANN401 - of pytest-playwright
    """Return an option of pytest-playwright; None where that is not installed, or it is not given."""
    return config.getoption(name, default=None)


def _recorded_origin(bundle: Path) -> str:
    """Return the origin that a mission navigated to first; `--base-url` replaces it."""
    from eikon_engine.errors import UsageError
    from eikon_engine.files.origins import split_url
    from eikon_engine.trace.actions import Navigate
    from eikon_engine.trace.bundle import open_bundle
    from eikon_engine.trace.execution import ActionTrace
    from eikon_engine.trace.steps import iter_steps

    for _, step in iter_steps(open_bundle(bundle).trace):
        if isinstance(step, ActionTrace) and isinstance(step.action, Navigate):
            url = split_url(step.action.url)
            return f"{url.scheme}://{url.netloc}"
    raise UsageError(f"{bundle}: --base-url needs a mission that navigates; this one does not")


def _channel_path(channel: str | None) -> Path | None:
    """Return the browser of a channel, such as `chrome`.

    Raises:
        UsageError: it is not installed.
    """
    if not channel:
        return None
    from eikon_engine.browser.executable import find_channel

    return find_channel(channel)


def _keep_viewer_trace(made: _Made, bundle: Path, choice: str | None) -> None:
    """Write a trace for Playwright's viewer, where `--tracing` asks for one."""
    is_wanted = choice == "on" or (choice == "retain-on-failure" and made.result.exit_status != 0)
    if not is_wanted or made.outcome is None:
        return
    from eikon_engine.exporters.playwright_trace import export_trace
    from eikon_engine.files.writing import write_atomically
    from eikon_engine.trace.bundle import open_bundle

    write_atomically(made.folder / "trace.zip", export_trace(open_bundle(bundle), (made.outcome, made.folder)))


def _accept(made: _Made, bundle: Path, reason: str | None) -> None:
    """Make what a live replay showed its baseline; what may not be accepted fails the test."""
    if not reason or made.result.verdict != "diverged":
        return
    import getpass

    from eikon_engine.certify.accept_outcome import Decision, accept_outcome
    from eikon_engine.errors import EikonError
    from eikon_engine.files.wall_clock import utc_now
    from eikon_engine.report.acceptance import render_acceptance
    from eikon_engine.trace.bundle import open_bundle

    decision = Decision(by=getpass.getuser(), reason=reason, steps=frozenset())
    try:
        report = accept_outcome(open_bundle(bundle), made.folder, decision, utc_now(), dry_run=False)
    except EikonError as error:
        raise ReplayFailed(f"{made.result.summary}\n--eikon-update: {error.message}") from error
    if report.status != "accepted":
        raise ReplayFailed(render_acceptance(report))
    pytest.skip(f"accepted as the baseline of live replays: {reason}")


@pytest.fixture
def eikon_replay(request: pytest.FixtureRequest) -> Callable[..., ReplayOutcome]:
    """Return a function that replays a bundle: `eikon_replay("traces/cart", network="live")`.

    It returns the outcome, or fails the test. Further arguments are those of `ReplayOptions`.
    """

    def replay_bundle(bundle: Path | str, **settings: Any) -> ReplayOutcome:  # noqa: ANN401 - options of a replay
        __tracebackhide__ = True
        path = Path(bundle)
        found = path if path.is_absolute() else request.config.invocation_params.dir / path
        name = f"{request.node.nodeid.replace('::', '/')}/{found.name}"
        made = _Replays.of(request.config).replay(name, found, settings)
        made.require_faithful(allow_unverifiable=bool(request.config.getoption("eikon_allow_unverifiable")))
        assert made.outcome is not None  # noqa: S101 - it is faithful
        return made.outcome

    return replay_bundle


@pytest.fixture
def eikon_record(request: pytest.FixtureRequest) -> Callable[..., AbstractContextManager[AgentMission]]:
    """Return a context manager that records what a test does with its page.

    Used as `with eikon_record(page, "traces/cart"):`. The page must not show a document yet. At the end of the block,
    the bundle is certified, and kept.
    """

    def record_page(
        page: object, bundle: Path | str, *, mission_text: str = "", options: AttachOptions | None = None
    ) -> AbstractContextManager[AgentMission]:
        from eikon_engine.record import record_mission

        folder = request.config.invocation_params.dir / Path(bundle)
        return record_mission(page, mission_text=mission_text or request.node.nodeid, directory=folder, options=options)

    return record_page


@pytest.fixture
def eikon_skill_snapshot(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return a function that compares what a skill returns: `eikon_skill_snapshot("extract_tables", html)`.

    The stored ones are in `__skill_snapshots__` beside the test, written with --eikon-update.
    """

    def compare(skill: str, html: str, *, url: str = "", name: str = "", **parameters: Any) -> Any:  # noqa: ANN401 - JSON
        __tracebackhide__ = True
        from eikon_engine.files.paths import safe_file_name
        from eikon_engine.skills import SkillInput, default_skills

        output = default_skills().get(skill).run(SkillInput(html=html, url=url, parameters=parameters))
        found = json.dumps(output, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        test = request.node.nodeid.rpartition("/")[2].replace("::", ".")
        file = request.path.parent / SNAPSHOTS / f"{safe_file_name(test, 'test')}.{name or skill}.json"
        if request.config.getoption("eikon_update"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(found, encoding="utf-8")
        elif not file.is_file():
            pytest.fail(f"{file}: expected the stored output of {skill}, got none; write it with --eikon-update REASON")
        else:
            _require_equal(file, found, skill)
        return output

    return compare


def _require_equal(file: Path, found: str, skill: str) -> None:
    stored = file.read_text(encoding="utf-8")
    if stored == found:
        return
    from difflib import unified_diff

    lines = unified_diff(stored.splitlines(), found.splitlines(), "stored", "observed", lineterm="")
    pytest.fail("\n".join((f"{skill} returned something else than {file}", *lines)), pytrace=False)
