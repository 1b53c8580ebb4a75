"""Options of a scenario run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from eikon_engine.errors import ModelClientMissingError
from eikon_engine.files.wall_clock import random_id, random_key, utc_now
from eikon_engine.scenario.tool_box import ToolBox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from eikon_engine.llm import CompletionClient
    from eikon_engine.outcome.events import EventLine
    from eikon_engine.skills import SkillRegistry

DEFAULT_RUNS_DIR: Final = Path("runs")


class CertifyMission(Protocol):
    """Certify the bundle of a recorded mission."""

    async def __call__(self, bundle: Path, secrets: Mapping[str, str]) -> str:
        """Return the status: certified, unstable, diverged …."""


def no_model_client() -> CompletionClient:
    """Fail, because no model client is configured.

    Raises:
        ModelClientMissingError: always.
    """
    message = "no model client: the scenario calls a model. Set ScenarioOptions.live."
    raise ModelClientMissingError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioOptions:
    """All options of a scenario run."""

    runs: Path = DEFAULT_RUNS_DIR
    """Parent folder of runs."""
    run_id: str | None = None
    """Folder name of the run; by default time and scenario."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Values of scenario variables by name."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Secret values by name, never written to files; a replay needs none."""
    redact: bool = True
    """Whether to find unnamed secrets and replace them with stand-ins; see `docs/redaction.md`."""
    tools: ToolBox = field(default_factory=ToolBox.of)
    """Tools in addition to the built-in ones."""
    skills: SkillRegistry | None = None
    """None for the built-in and installed skills."""
    make_model_client: Callable[[], CompletionClient] = no_model_client
    """Factory of the model client for recording, called on first use."""
    headless: bool = True
    browser_path: Path | None = None
    certify: CertifyMission | None = None
    """Certifies the recorded mission; None skips it."""
    readers: tuple[Callable[[EventLine], None], ...] = ()
    """Readers of the event stream: progress, logs."""
    now: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = random_id
    new_key: Callable[[], bytes] = random_key
    """Source of the stand-in key, which is never stored."""


def scenario_skills(options: ScenarioOptions) -> SkillRegistry:
    """Return the skills, loaded lazily."""
    from eikon_engine.skills import default_skills  # noqa: PLC0415 - keeps scenarios without skills fast

    return options.skills or default_skills()
