"""How a scenario is run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from eikon_engine.errors import ModelClientMissingError
from eikon_engine.scenario.tool_box import ToolBox
from eikon_engine.trace.wall_clock import fresh_id, fresh_key, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from eikon_engine.completions import CompletionClient
    from eikon_engine.outcome.events import JournalLine
    from eikon_engine.skills import SkillRegistry

RUNS: Final = Path("runs")


class Certifier(Protocol):
    """Certify the bundle of a mission that was recorded."""

    async def __call__(self, bundle: Path, secrets: Mapping[str, str]) -> str:
        """Return what it came to, in a word: certified, unstable, diverged."""


def no_model() -> CompletionClient:
    """Say that no model can be asked.

    Raises:
        ModelClientMissingError: always.
    """
    message = "wanted a model to ask, found none; give ScenarioOptions.live a client"
    raise ModelClientMissingError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioOptions:
    """Everything that can be chosen about a run of a scenario."""

    runs: Path = RUNS
    """Folder of the folders of runs."""
    run_id: str | None = None
    """Name of the folder of the run; made of time and scenario if left out."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values of variables of the scenario, by name."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values that are written nowhere, by name; a replay needs none."""
    redact: bool = True
    """Whether secrets that nobody named are looked for, and replaced by stand-ins; see `docs/redaction.md`."""
    tools: ToolBox = field(default_factory=ToolBox.of)
    """Tools beside those that are built in."""
    skills: SkillRegistry | None = None
    """None for those that are built in and installed."""
    live: Callable[[], CompletionClient] = no_model
    """Makes what is asked while a run is recorded, when it is first needed."""
    headless: bool = True
    browser_path: Path | None = None
    certify: Certifier | None = None
    """Certifies the mission when it is recorded; None leaves it for later."""
    readers: tuple[Callable[[JournalLine], None], ...] = ()
    """Readers of the events: progress, logs."""
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = fresh_id
    new_key: Callable[[], bytes] = fresh_key
    """Where the key of stand-ins comes from, which is kept nowhere."""


def skills_of(options: ScenarioOptions) -> SkillRegistry:
    """Return the skills, which are loaded when the first one is used."""
    from eikon_engine.skills import default_skills  # noqa: PLC0415 - scenarios without skills are quick

    return options.skills or default_skills()
