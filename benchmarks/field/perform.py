"""Perform one mission in a process of its own, as the agent of a user does, recorded or not; internal to the field.

Run: `python -m benchmarks.field.perform APPLICATION MISSION URL RESULT [BUNDLE]`. The agent launches the browser
itself; the recording and its certification are those of `record_mission` with its defaults. RESULT is JSON.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import logging
import os
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

from playwright.async_api import Page as AsyncPage
from playwright.async_api import async_playwright
from playwright.async_api import expect as async_expect
from playwright.sync_api import Page, expect, sync_playwright

from benchmarks.field.application import Mission
from benchmarks.field.catalogue import find
from eikon_engine import record_mission
from eikon_engine.browser.executable import find_browser
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.record import AttachOptions
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from eikon_engine.outcome.certification import CertificationReport


def _log(line: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stderr.flush()


OPTIONS = AttachOptions(certify=CertifyOptions(progress=_log))
"""The defaults, with progress that is logged."""
EXPECT_MS = 15_000.0
"""Time that missions allow their expectations, so that a busy machine fails none of them."""


@dataclass(slots=True, kw_only=True)
class Performance:
    """What one mission came to; written to the file that the field reads."""

    mission_s: float | None = None
    """Wall time of the mission; None if it failed."""
    certify_s: float | None = None
    """Wall time from its last call until the recording is certified, or is not."""
    actions: int | None = None
    is_certified: bool = False
    rules: int = 0
    masks: int = 0
    reasons: list[str] = field(default_factory=list)
    """Why the mission failed or was not certified, most important first."""
    warnings: list[str] = field(default_factory=list)


class _Warnings(logging.Handler):
    """Keeps what a user reads in the log."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def perform(mission: Mission, url: str, bundle: Path | None) -> Performance:
    """Perform a mission on a page of a new browser, recorded into the bundle if there is one."""
    done, warnings = Performance(), _Warnings()
    logging.getLogger("eikon_engine").addHandler(warnings)
    begin = time.perf_counter()
    run = _perform_asynchronously if inspect.iscoroutinefunction(mission) else _perform_synchronously
    try:
        report = run(mission, url, bundle, done)
    except Exception as error:  # noqa: BLE001 - whatever a mission raises is what it came to
        stage = "the mission failed" if done.mission_s is None else "recording failed"
        done.reasons.append(f"{stage} after {time.perf_counter() - begin:.0f} s: {type(error).__name__}: {error}")
        report = None
    done.warnings = warnings.lines
    if bundle is not None and not done.reasons:
        _read(done, bundle, report)
    return done


def _perform_synchronously(
    mission: Mission, url: str, bundle: Path | None, done: Performance
) -> CertificationReport | None:
    act = cast("Callable[[Page, str], None]", mission)
    with sync_playwright() as playwright, ExitStack() as stack:
        browser = playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
        stack.callback(browser.close)
        page = browser.new_context().new_page()
        with ExitStack() as block:
            recording = None
            if bundle is not None:
                recording = block.enter_context(
                    record_mission(page, mission_text=_text(mission), directory=bundle, options=OPTIONS)
                )
            begin = time.perf_counter()
            act(page, url)
            ended = time.perf_counter()
            done.mission_s = ended - begin
        if recording is None:
            return None
        done.certify_s = time.perf_counter() - ended
        return recording.report


def _perform_asynchronously(
    mission: Mission, url: str, bundle: Path | None, done: Performance
) -> CertificationReport | None:
    act = cast("Callable[[AsyncPage, str], Awaitable[None]]", mission)

    async def run() -> CertificationReport | None:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=find_browser(None, environ=os.environ).path)
            page = await (await browser.new_context()).new_page()
            try:
                if bundle is None:
                    done.mission_s = await _timed(act, page, url)
                    return None
                async with record_mission(
                    page, mission_text=_text(mission), directory=bundle, options=OPTIONS
                ) as recording:
                    done.mission_s = await _timed(act, page, url)
                    ended = time.perf_counter()
                done.certify_s = time.perf_counter() - ended
                return recording.report
            finally:
                await browser.close()

    return asyncio.run(run())


async def _timed(act: Callable[[AsyncPage, str], Awaitable[None]], page: AsyncPage, url: str) -> float:
    begin = time.perf_counter()
    await act(page, url)
    return time.perf_counter() - begin


def _text(mission: Mission) -> str:
    return (inspect.getdoc(mission) or mission.__name__).splitlines()[0]


def _read(done: Performance, bundle: Path, report: CertificationReport | None) -> None:
    """Add what the bundle and the certification show."""
    trace = open_bundle(bundle).trace
    done.actions = sum(len(each.actions_taken) for each in trace.subgoal_traces)
    done.rules = len(trace.network.rules) if trace.network is not None else 0
    done.masks = len(trace.masks)
    if report is None:
        done.reasons = done.warnings or ["no certification report"]
        return
    done.is_certified = report.status == "certified"
    if not done.is_certified:
        found = [f"{each.subgoal} {each.sequence} {each.step}: {each.message}" for each in report.findings]
        done.reasons = [f"{report.status}: {line}" for line in found or report.notes or ("no finding",)]


def main() -> None:
    """Perform the mission that is named, and write what it came to."""
    application, name, url, result, *bundle = sys.argv[1:]
    (mission,) = (each for each in find(application).missions if each.__name__ == name)
    expect.set_options(timeout=EXPECT_MS)
    async_expect.set_options(timeout=EXPECT_MS)
    done = perform(mission, url, Path(bundle[0]) if bundle else None)
    Path(result).write_text(json.dumps(dataclasses.asdict(done), indent=1))


if __name__ == "__main__":
    main()
