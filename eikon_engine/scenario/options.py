"""Options of a scenario run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from eikon_engine.errors import RequirementError, UsageError
from eikon_engine.files.paths import safe_file_name
from eikon_engine.files.wall_clock import random_id, random_key, utc_now
from eikon_engine.replay.option_checks import OptionChecks
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


def no_completion_client() -> CompletionClient:
    """Fail, because no model client is configured.

    Raises:
        RequirementError: always.
    """
    message = "no model client: the scenario calls a model. Set ScenarioOptions.make_completion_client."
    raise RequirementError(message, code="model-client-missing")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioOptions:
    """All options of a scenario run. A path may be given as text.

    Raises:
        UsageError: a value is not one that its option accepts.
    """

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
    make_completion_client: Callable[[], CompletionClient] = no_completion_client
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

    def __post_init__(self) -> None:
        """Check every value."""
        checks = OptionChecks(self)
        checks.convert_paths("runs", "browser_path")
        if self.run_id is not None:
            checks.check_text("run_id")
            if safe_file_name(self.run_id, "") != self.run_id:
                expected = "at most 100 letters, digits, '.', '_' and '-'"
                message = f"ScenarioOptions.run_id: expected {expected}, got {self.run_id!r}. It names a folder."
                raise UsageError(message)
        checks.check_text_mappings("variables", "secrets")
        checks.check_flags("redact", "headless")
        checks.check_instance("tools", ToolBox, advice="Build one with ToolBox.of(…).")
        if self.skills is not None:
            checks.check_method("skills", "extended", advice="Build a registry with SkillRegistry.of(…).")
        checks.convert_items("readers", callable, "functions")
        optional = ("certify",) if self.certify is not None else ()
        checks.check_callables("make_completion_client", "now", "new_id", "new_key", *optional)


def scenario_skills(options: ScenarioOptions) -> SkillRegistry:
    """Return the skills, loaded lazily."""
    from eikon_engine.skills import default_skills  # noqa: PLC0415 - keeps scenarios without skills fast

    return options.skills or default_skills()
