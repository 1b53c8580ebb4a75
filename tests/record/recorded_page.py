"""Record what tests do with a page."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eikon_engine.certify.options import CertifyOptions
from eikon_engine.record import AgentMission, AttachOptions, record_mission
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import ActionTrace

QUICK = AttachOptions(certify=None)
TWICE = AttachOptions(certify=CertifyOptions(runs=2))
"""Certifies with the fewest replays that can agree."""


@dataclass(frozen=True, slots=True)
class RecordedPage:
    """A page that is being recorded, and its mission."""

    page: Page
    mission: AgentMission


@contextmanager
def recorded_page(
    browser: Browser,
    folder: Path,
    options: AttachOptions = QUICK,
    **context: Any,  # noqa: ANN401 - options of Playwright
) -> Iterator[RecordedPage]:
    """Record what is done to a page of a new context."""
    opened = browser.new_context(**context)
    page = opened.new_page()
    page.set_default_timeout(20_000)
    try:
        with record_mission(page, mission_text="Try it", directory=folder, options=options) as mission:
            yield RecordedPage(page, mission)
    finally:
        opened.close()


def steps(folder: Path) -> list[ActionTrace]:
    """Return the recorded steps, in order."""
    return [step for subgoal in open_bundle(folder).trace.subgoal_traces for step in subgoal.actions_taken]


def recorded_actions(folder: Path) -> list[Action]:
    """Return the actions after the navigation that begins a mission."""
    found: list[Action] = [step.action for step in steps(folder)]
    assert found[0].type == "navigate"
    return found[1:]


def kinds(folder: Path) -> list[str]:
    """Return the types of the actions after the navigation that begins a mission."""
    return [action.type for action in recorded_actions(folder)]


def warnings(folder: Path) -> str:
    """Return all warnings of a recording."""
    return "\n".join(open_bundle(folder).trace.warnings)
