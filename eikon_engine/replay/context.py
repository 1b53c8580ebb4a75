"""Open the browser context of a replay: recorded network, storage, environment and worker.

What a sealed replay of a bundle does not need is imported when it is used.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from eikon_engine.browser.environment import (
    browser_kind,
    fonts_digest,
    platform_name,
    read_native_browser,
    read_page_view,
)
from eikon_engine.browser.launch import LaunchOptions, launch_browser, take_prepared_browser
from eikon_engine.browser.session import SessionOptions
from eikon_engine.browser.traffic.live import LiveTraffic
from eikon_engine.browser.traffic.recorded_responses import find_status_texts
from eikon_engine.browser.traffic.sealed import SealedTraffic
from eikon_engine.browser.traffic.sink import open_sink
from eikon_engine.browser.worker import SealedWorker, open_worker
from eikon_engine.divergence.detectors.environment import GIVEN_PROPERTIES
from eikon_engine.errors import InternalError, RequirementError, TraceSyntaxError
from eikon_engine.files.limits import parse_json, read_document
from eikon_engine.files.paths import resolve_inside
from eikon_engine.files.temporary import temporary_folder
from eikon_engine.network.retiming import apply_timeline
from eikon_engine.network.store import read_network
from eikon_engine.secrets.redaction import Redactor
from eikon_engine.secrets.stand_ins import RecordedStandIns
from eikon_engine.trace.actions import WaitFor
from eikon_engine.trace.base_urls import map_session_storage, map_storage_state
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.environment import (
    Environment,
    SessionStorage,
    StorageState,
    parse_session_storage,
    parse_storage_state,
    read_storage_state,
    revive_expired_cookies,
)
from eikon_engine.trace.execution import ActionTrace
from eikon_engine.trace.steps import begun_ms, is_failed_wait
from eikon_engine.trace.variables import SecretValues

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager
    from datetime import datetime

    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.live import Traffic
    from eikon_engine.browser.traffic.sink import Sink
    from eikon_engine.browser.worker import Worker
    from eikon_engine.network.store import NetworkRecording
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.plan import Plan
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkSource:
    """Another recorded network, with the warnings of its reader."""

    recording: NetworkRecording
    warnings: tuple[str, ...] = ()


def recorded_network(bundle: Bundle) -> NetworkRecording | None:
    """Read the recorded network of a bundle; None if it has none."""
    if bundle.trace.network is None:
        return None
    read = read_network(resolve_inside(bundle.root, bundle.trace.network.folder, "network.folder"))
    return replace(apply_timeline(read, bundle.trace.network.timeline), end_ms=_end_ms(bundle.trace))


@contextmanager
def open_network_source(options: ReplayOptions) -> Iterator[NetworkSource | None]:
    """Open the HAR or bundle of the options; None if neither is set.

    A HAR is imported into a temporary folder that is removed at the end of the block.

    Raises:
        TraceError: it cannot be read; see `import_har` and `open_bundle`.
        RequirementError: the bundle has no recorded network.
    """
    if options.responses_from is not None:
        recording = recorded_network(open_bundle(options.responses_from))
        if recording is None:
            message = (
                f"{options.responses_from}: --responses-from expects a bundle with a recorded network, "
                "but this one has none"
            )
            raise RequirementError(message, code="network-part-missing")
        yield NetworkSource(recording=recording)
    elif options.har is not None:
        from eikon_engine.importers.har_network import import_har  # noqa: PLC0415 - see above

        with temporary_folder("har") as folder:
            har = import_har(options.har, folder, Redactor(options.secrets))
            yield NetworkSource(recording=har.recording, warnings=har.warnings)
    else:
        yield None


StartFile = TypeVar("StartFile", StorageState, SessionStorage)


def recorded_storage_state(bundle: Bundle, secrets: SecretValues, now: datetime) -> StorageState | None:
    """Read cookies, local storage and IndexedDB; extend cookies that have expired since the recording.

    Raises:
        TraceSyntaxError: the file is not a valid storage file.
    """
    relative = bundle.trace.start.storage_state
    if relative is None:
        return None
    state = _read_start_file(bundle, ("start.storage_state", relative), parse_storage_state, secrets)
    return revive_expired_cookies(state, now.timestamp())


def recorded_session_storage(bundle: Bundle, secrets: SecretValues) -> SessionStorage:
    """Read the session storage of the first page; empty if none was recorded.

    Raises:
        TraceSyntaxError: the file is not a valid storage file.
    """
    relative = bundle.trace.start.session_storage
    if relative is None:
        return {}
    return _read_start_file(bundle, ("start.session_storage", relative), parse_session_storage, secrets)


def _read_start_file(
    bundle: Bundle, use: tuple[str, str], parse: Callable[[bytes], StartFile], secrets: SecretValues
) -> StartFile:
    """Read the file that a trace field refers to, and restore the values of secrets."""
    field, relative = use
    path = resolve_inside(bundle.root, relative, field)
    try:
        restored = Redactor(secrets.values).restore_json(parse_json(read_document(path, root=bundle.root)))
        return parse(json.dumps(restored).encode())
    except (OSError, ValueError) as error:
        name = field.rpartition(".")[2].replace("_", " ")
        message = f"{path}: expected a {name} in JSON, got {error}. Restore the bundle."
        raise TraceSyntaxError(message) from error


UNRECORDED_SEED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedContext:
    """A worker with its session and environment."""

    worker: Worker
    session: Session
    browser: str
    environment: Environment
    switch_to_live: Callable[[], None]
    """Switches a sealed replay to the live site for all further requests."""


@asynccontextmanager
async def launch_replay_browser(
    plan: Plan, options: ReplayOptions, *, outlives_signals: bool = False
) -> AsyncIterator[LaunchedBrowser]:
    """Launch a browser configured like the recorded one; replays of one plan can share it, each in its own context.

    With `outlives_signals` the browser survives Ctrl-C, for callers that clean up first.

    Raises:
        BrowserError: no browser was found, or it does not start.
    """
    fonts = asyncio.ensure_future(asyncio.to_thread(fonts_digest))  # computed while the browser starts
    is_usual = plan.permissions.origins is None and not outlives_signals
    prepared = await take_prepared_browser(launch_kind(plan, options) if is_usual else None)
    if prepared is not None:
        await fonts
        yield prepared
        return
    async with (
        _open_sink(plan) as sink,
        launch_browser(replace(_launch_options(plan, options, sink), ignores_signals=outlives_signals)) as launched,
    ):
        await fonts
        yield launched


@asynccontextmanager
async def open_replay_context(
    launched: LaunchedBrowser, plan: Plan, options: ReplayOptions, extra_secrets: frozenset[str] = frozenset()
) -> AsyncIterator[OpenedContext]:
    """Open a fresh context in a running browser, with the plan's traffic and its own sink.

    `extra_secrets` names secrets to redact from the start, in addition to those of the recording.

    Raises:
        TraceError: the recorded network or storage state cannot be read.
    """
    recorded = None if plan.network == "snapshot" else recorded_network(plan.bundle)
    traffic = _choose_traffic(plan, options, recorded)
    async with _open_sink(plan) as sink:
        if plan.front_end is not None and isinstance(traffic, SealedTraffic):
            from eikon_engine.browser.traffic.front_end import FrontEndResponder  # noqa: PLC0415 - see above

            traffic.fetch_front_end(FrontEndResponder(launched.api_request, traffic.recording, plan.front_end))
        environment = await _replay_environment(launched, plan.trace.environment, options)
        chosen = _session_options(plan, options, environment, sink)
        session = replace(
            chosen,
            redacted_secrets=chosen.redacted_secrets | extra_secrets,
            long_tasks=() if recorded is None or chosen.natural_clock else recorded.long_tasks,
            status_texts=find_status_texts(traffic.recording.exchanges)
            if isinstance(traffic, SealedTraffic)
            else ({}, ()),
        )
        name = f"{environment.browser_name} {launched.browser.version} ({launched.binary.kind})"
        async with _open_worker(plan, launched, session, traffic) as worker:
            worker.session.uploads = plan.bundle.files
            first = worker.session.page(0)
            if traffic is not None and first is not None:
                environment = environment.model_copy(update={"page_view": await read_page_view(first)})
            watched = SealedWorker(worker, worker.session, sink) if sink else worker
            yield OpenedContext(
                worker=watched,
                session=worker.session,
                browser=name,
                environment=environment,
                switch_to_live=partial(_switch_to_live, launched, traffic),
            )


def _open_worker(
    plan: Plan, launched: LaunchedBrowser, session: SessionOptions, traffic: Traffic | None
) -> AbstractAsyncContextManager[Worker]:
    """Open the worker of a plan; without traffic, that is snapshot playback."""
    if traffic is not None:
        return open_worker(launched.browser, session, traffic)
    from eikon_engine.browser.snapshot_playback import open_snapshot_playback  # noqa: PLC0415 - see above

    return open_snapshot_playback(launched.browser, session, plan.bundle)


def _session_options(plan: Plan, options: ReplayOptions, environment: Environment, sink: Sink | None) -> SessionOptions:
    secrets = SecretValues(plan.secrets)
    return SessionOptions(
        environment=environment,
        storage_state=_start_storage_state(plan, secrets, options),
        session_storage=map_session_storage(recorded_session_storage(plan.bundle, secrets), plan.urls),
        languages=_languages(plan.trace.environment),
        secrets=secrets,
        urls=plan.urls,
        redacted_secrets=frozenset(plan.trace.start.secrets) & plan.secrets.keys(),
        stand_ins=RecordedStandIns(each.stand_in for each in plan.trace.redaction.found),
        proxy=sink.page_proxy if sink else None,
        is_live=plan.network == "live",
        secret_origins=plan.permissions.secret_origins,
    )


def _switch_to_live(launched: LaunchedBrowser, traffic: Traffic | None) -> None:
    if not isinstance(traffic, SealedTraffic):
        message = "only a sealed replay can switch to the live site"
        raise InternalError(message)
    from eikon_engine.browser.traffic.live_responses import LiveResponder  # noqa: PLC0415 - see above

    traffic.set_live_responder(
        LiveResponder(launched.api_request, traffic.recording, rule_use=traffic.rule_use, sends_every_request=True)
    )


def _languages(recorded: Environment | None) -> tuple[str, ...]:
    """Return the recorded `navigator.languages`, if they differ from the locale alone."""
    view = recorded.page_view if recorded is not None else None
    return () if recorded is None or view is None or view.languages == (recorded.locale,) else view.languages


def launch_kind(plan: Plan, options: ReplayOptions) -> LaunchOptions:
    """Return what replays of different plans must have in common to share a browser."""
    return replace(_launch_options(plan, options, None), sealed=plan.has_sink)


def _open_sink(plan: Plan) -> AbstractAsyncContextManager[Sink | None]:
    """Open the proxy that catches what may not reach the network; none in a live replay that may reach it all."""
    if not plan.has_sink:
        return nullcontext()
    if plan.permissions.origins is None:
        return open_sink()
    from eikon_engine.browser.traffic.public_origins import PublicOrigins  # noqa: PLC0415 - see above

    return open_sink(passage=PublicOrigins(plan.permissions.origins))


def _launch_options(plan: Plan, options: ReplayOptions, sink: Sink | None) -> LaunchOptions:
    recorded = plan.trace.environment
    return LaunchOptions(
        headless=options.headless,
        browser_path=options.browser_path,
        # Where a script of ours draws the numbers, the seed of the browser has no effect: such replays can share one.
        random_seed=recorded.random_seed if recorded and recorded.random_source == "flag" else UNRECORDED_SEED,
        sealed=sink is not None,
        proxy=sink.browser_proxy if sink else None,
    )


def _repeated_keys(plan: Plan, recording: NetworkRecording) -> frozenset[str]:
    """Return the keys of requests that the baselines have more often than the recording."""
    steps = (each.step for subgoal in plan.subgoals for each in subgoal.steps)
    baselines = (step.baseline for step in steps if isinstance(step, ActionTrace))
    sent = Counter(key for baseline in baselines if baseline is not None for key in baseline.requests)
    return frozenset(sent - Counter(each.key for each in recording.exchanges))


def _missed_deadlines_ms(plan: Plan) -> list[float]:
    """Return the recorded page times at which waits of the agent timed out, which may be before their steps began."""
    steps = (each.step for subgoal in plan.subgoals for each in subgoal.steps)
    waits = [each for each in steps if isinstance(each, ActionTrace) and is_failed_wait(each)]
    elapsed_ms = [each.action.elapsed_ms if isinstance(each.action, WaitFor) else 0.0 for each in waits]
    return [begun_ms(wait) - elapsed + wait.action.timeout_ms for wait, elapsed in zip(waits, elapsed_ms, strict=True)]


def _choose_traffic(plan: Plan, options: ReplayOptions, own: NetworkRecording | None) -> Traffic | None:
    """Choose what serves requests; None for snapshot playback, which serves them itself."""
    if plan.network == "snapshot":
        return None
    rules = plan.trace.network.rules if plan.trace.network is not None else ()
    if plan.other_network is not None:
        return SealedTraffic(plan.other_network.recording, rules, own)
    if own is None:
        return LiveTraffic()
    if plan.network == "live":
        from eikon_engine.browser.traffic.probe import ProbeTraffic  # noqa: PLC0415 - see above

        return ProbeTraffic(
            own,
            rules,
            options.rule_learner,
            repeated_keys=_repeated_keys(plan, own),
            deadlines_ms=_missed_deadlines_ms(plan),
        )
    return SealedTraffic(
        own,
        rules,
        on_delivery=options.on_delivery,
        failures=plan.failed_action_indexes,
        learner=options.rule_learner,
    )


def _end_ms(trace: ExecutionTrace) -> float:
    """Return the page time at which a recording ended; infinity if a replay passes no more page time than it.

    Replays let the pages of a recording with the natural clock settle after each action.
    """
    environment = trace.environment
    if environment is None or environment.clock != "natural" or trace.ended_at is None:
        return math.inf
    return trace.ended_at.timestamp() * 1000 - environment.clock_start_ms


async def _replay_environment(
    launched: LaunchedBrowser, recorded: Environment | None, options: ReplayOptions
) -> Environment:
    """Return the recorded environment, with the actual values of what cannot be reproduced."""
    here = Environment(
        browser_version=launched.browser.version,
        playwright_version=launched.playwright_version,
        platform=platform_name(),
        flags=launched.flags,
        browser_kind=browser_kind(launched, headless=options.headless),
        fonts_digest=fonts_digest(),
        user_agent=recorded.user_agent if recorded else (await read_native_browser(launched.browser)).user_agent,
        clock_start_ms=recorded.clock_start_ms if recorded else int(options.now().timestamp() * 1000),
        random_seed=recorded.random_seed if recorded else UNRECORDED_SEED,
    )
    if recorded is None:
        return here
    as_it_is = {name: getattr(here, name) for name in GIVEN_PROPERTIES}
    return recorded.model_copy(update={**as_it_is, "page_view": None})


def _start_storage_state(plan: Plan, secrets: SecretValues, options: ReplayOptions) -> StorageState | None:
    if options.storage_state is not None:
        return read_storage_state(options.storage_state)
    state = recorded_storage_state(plan.bundle, secrets, options.now())
    return None if state is None else map_storage_state(state, plan.urls)
