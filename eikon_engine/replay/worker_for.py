"""Open the worker that a plan asks for."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eikon_engine.browser.environment import fonts_digest, native_user_agent, platform_name
from eikon_engine.browser.launch import SEALED_FLAGS, LaunchOptions, launch_browser
from eikon_engine.browser.probe import ProbeTraffic
from eikon_engine.browser.sealed import SealedTraffic
from eikon_engine.browser.session import SessionOptions
from eikon_engine.browser.snapshot_player import open_snapshot_player
from eikon_engine.browser.traffic import LiveTraffic
from eikon_engine.browser.worker import open_worker
from eikon_engine.errors import TraceSyntaxError
from eikon_engine.network.store import read_network
from eikon_engine.trace.bundle_path import inside
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.redaction import Redactor
from eikon_engine.trace.relocated import relocated_state
from eikon_engine.trace.secret_text import Secrets

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from eikon_engine.browser.find import BrowserBinary
    from eikon_engine.browser.launch import LaunchedBrowser
    from eikon_engine.browser.traffic import Traffic
    from eikon_engine.browser.worker import Worker
    from eikon_engine.replay.options import ReplayOptions
    from eikon_engine.replay.plan import Plan

UNRECORDED_SEED = 1
NOT_RECREATED = ("browser_version", "playwright_version", "platform", "flags", "fonts_digest")
"""Parts of an environment that are as they are; everything else is made as it was recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedWorker:
    """A worker, and what it works in."""

    worker: Worker
    browser: str
    environment: Environment


@asynccontextmanager
async def worker_for(plan: Plan, options: ReplayOptions, binary: BrowserBinary) -> AsyncIterator[OpenedWorker]:
    """Launch a browser as the recording had it, with the traffic of the plan.

    Raises:
        BrowserError: there is no browser, or it does not start.
        TraceError: the recorded network or storage state cannot be read.
    """
    recorded = plan.trace.environment
    traffic = _traffic(plan)
    launch = LaunchOptions(
        headless=options.headless,
        binary=binary,
        random_seed=recorded.random_seed if recorded else UNRECORDED_SEED,
        sealed=plan.network != "live",
    )
    secrets = Secrets(options.secrets)
    async with launch_browser(launch) as launched:
        environment = await _environment(launched, recorded, options)
        session = SessionOptions(
            environment=environment,
            storage_state=_storage_state(plan, secrets),
            secrets=secrets,
            urls=plan.urls,
            kept_secrets=frozenset(plan.trace.start.secrets) & options.secrets.keys(),
        )
        name = f"{environment.browser_name} {launched.browser.version} ({launched.binary.kind})"
        opening = (
            open_snapshot_player(launched.browser, session, plan.bundle)
            if traffic is None
            else open_worker(launched.browser, session, traffic)
        )
        async with opening as worker:
            worker.session.uploads = plan.bundle.files
            yield OpenedWorker(worker=worker, browser=name, environment=environment)


def _traffic(plan: Plan) -> Traffic | None:
    """Choose what answers requests; None for the playback of snapshots, which answers them itself."""
    if plan.network == "snapshot":
        return None
    rules = plan.trace.network.rules if plan.trace.network is not None else ()
    if plan.har is not None:
        return SealedTraffic(plan.har.recording, rules)
    if plan.trace.network is None:
        return LiveTraffic()
    recording = read_network(inside(plan.bundle.root, plan.trace.network.folder, "network.folder"))
    return ProbeTraffic(recording) if plan.network == "live" else SealedTraffic(recording, rules)


async def _environment(launched: LaunchedBrowser, recorded: Environment | None, options: ReplayOptions) -> Environment:
    """Re-create what can be re-created, and state what is here."""
    here = Environment(
        browser_version=launched.browser.version,
        playwright_version=launched.playwright_version,
        platform=platform_name(),
        flags=tuple(flag for flag in launched.flags if flag not in SEALED_FLAGS),
        fonts_digest=fonts_digest(),
        user_agent=recorded.user_agent if recorded else await native_user_agent(launched.browser),
        clock_start_ms=recorded.clock_start_ms if recorded else int(options.now().timestamp() * 1000),
        random_seed=recorded.random_seed if recorded else UNRECORDED_SEED,
    )
    return (
        here if recorded is None else recorded.model_copy(update={name: getattr(here, name) for name in NOT_RECREATED})
    )


def _storage_state(plan: Plan, secrets: Secrets) -> dict[str, Any] | None:
    bundle = plan.bundle
    relative = bundle.trace.start.storage_state
    if relative is None:
        return None
    path = inside(bundle.root, relative, "start.storage_state")
    try:
        state: dict[str, Any] = json.loads(Redactor(secrets.values).restore(path.read_bytes()))
    except (OSError, ValueError) as error:
        message = f"{path}: wanted a storage state in JSON, found {error}; restore the bundle"
        raise TraceSyntaxError(message) from error
    return relocated_state(state, plan.urls)
