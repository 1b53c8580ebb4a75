"""Record the tool calls of any agent, or serve them from a recording, without a scenario."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from eikon_engine.errors import EikonError, InterruptedRunError, ScenarioError, UsageError
from eikon_engine.files.wall_clock import random_key, utc_now
from eikon_engine.files.writing import make_folder
from eikon_engine.outcome.events import RunStart
from eikon_engine.outcome.run_record import FIXTURES_FOLDER, RunRecord, make_run_folder, versions
from eikon_engine.replay.option_checks import OptionChecks
from eikon_engine.scenario.calls import CallObservers
from eikon_engine.scenario.fixtures import FixtureFolder
from eikon_engine.scenario.recorded_calls import RecordingCalls
from eikon_engine.scenario.redaction import SecretFinder
from eikon_engine.scenario.replayed_calls import ReplayingCalls
from eikon_engine.scenario.run_folder import RunFolder
from eikon_engine.secrets.search import RedactionRules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from types import TracebackType

    from pydantic import JsonValue

    from eikon_engine.llm import ServedResponse
    from eikon_engine.outcome.run_record import RunMode
    from eikon_engine.scenario.calls import ToolCallEnd, ToolCallStart
    from eikon_engine.scenario.tool_box import ToolBox


class ToolNotes(Protocol):
    """A mission under recording, such as the one of `record_mission`."""

    def tool(
        self, name: str, arguments: Mapping[str, JsonValue] | None = None, *, result: JsonValue = None, error: str = ""
    ) -> None:
        """Note a tool call with its result, or the error that it raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of an agent run.

    Raises:
        UsageError: a value is not one that its option accepts.
    """

    goal: str = ""
    """Goal of the run, as text."""
    allowed: tuple[str, ...] | None = None
    """Names of the allowed tools; None allows all."""
    mission: ToolNotes | None = None
    """Mission in which calls are noted too, among its actions."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Secret values by name, never written to files; a replay needs none."""
    redact: bool = True
    """Whether to find unnamed secrets and replace them with stand-ins; see `docs/redaction.md`."""
    ordered: bool = True
    """Whether a replay must make its calls in the recorded order; False for agents that call from several threads."""
    now: Callable[[], datetime] = utc_now
    new_key: Callable[[], bytes] = random_key
    """Source of the stand-in key, which is never stored."""

    def __post_init__(self) -> None:
        """Check every value."""
        checks = OptionChecks(self)
        checks.check_text("goal")
        if self.allowed is not None:
            checks.convert_items("allowed", lambda each: isinstance(each, str), "names of tools")
        if self.mission is not None:
            checks.check_method("mission", "tool", advice="Pass a mission under recording.")
        checks.check_text_mappings("secrets")
        checks.check_flags("redact", "ordered")
        checks.check_callables("now", "new_key")


def open_run(
    directory: Path | str,
    tools: ToolBox,
    *,
    mode: RunMode = "record",
    fixtures: Path | str | None = None,
    options: RunOptions | None = None,
) -> AgentRun:
    """Open a run in a new folder; use it as a `with` or `async with` block and call tools inside.

    In mode `record` each call is executed and stored in `directory/fixtures`. In mode `replay` each is served from
    `fixtures`, the folder of a recorded run, and nothing is executed.

    Raises:
        UsageError: a replay has no fixtures, or a recording has some.
        OutputError: a run exists already, or the folder cannot be written.
        FixtureFolderError: the fixtures are not usable.
        RequirementError: an allowed tool is not in the box.
    """
    if (mode == "replay") != (fixtures is not None):
        message = f"fixtures are required with mode replay and not allowed with mode record, got mode {mode}"
        raise UsageError(message)
    chosen = options or RunOptions()
    recorded = None if fixtures is None else FixtureFolder(Path(fixtures))
    if chosen.allowed is not None and recorded is None:
        tools = tools.allowing(chosen.allowed)
    return AgentRun(Path(directory), tools, recorded, chosen)


class AgentRun:
    """A run of an agent: a context manager, with the tools to call inside."""

    def __init__(self, directory: Path, tools: ToolBox, recorded: FixtureFolder | None, options: RunOptions) -> None:
        """Use `open_run` to create one; the run starts with the block."""
        self.directory = directory
        self._box = tools
        self._recorded = recorded
        self._options = options

    @property
    def tools(self) -> ToolBox:
        """Return the tools bound to this run."""
        return self._bound_tools

    def call(self, name: str, args: Mapping[str, JsonValue] | None = None) -> Any:  # noqa: ANN401 - what the tool returns
        """Call a tool; see `ToolBox.call`."""
        return self._bound_tools.call(name, args)

    async def acall(self, name: str, args: Mapping[str, JsonValue] | None = None) -> Any:  # noqa: ANN401 - as above
        """Call a tool without blocking the event loop; see `ToolBox.acall`."""
        return await self._bound_tools.acall(name, args)

    def note(self, text: str) -> None:
        """Write a note to the events of the run."""
        self._folder.events.note(self._calls.secrets.redactor.redact_text(text))

    def __enter__(self) -> Self:
        """Start the run."""
        options = self._options
        started_at = options.now()
        root = make_run_folder(self.directory.parent, "", started_at, self.directory.name)
        note = RunRecord(
            run_id=root.name,
            mode="record" if self._recorded is None else "replay",
            recording=None if self._recorded is None else self._recorded.info.run_id,
            started_at=started_at,
            versions=versions(),
        )
        self._folder = RunFolder(root, note, options.now)
        self._calls = self._open_calls(root)
        if isinstance(self._calls, RecordingCalls):
            self._folder.redactor = self._calls.secrets.redactor
        self._bound_tools = self._box.with_calls(self._calls)
        if options.allowed is not None:
            self._bound_tools = self._bound_tools.allowing(options.allowed)
        goal = self._calls.secrets.redactor.redact_text(options.goal)
        self._folder.log.append(
            RunStart(
                kind="scenario_record" if self._recorded is None else "scenario_replay",
                run_id=root.name,
                mission_id=root.name,
                mission_text=goal,
            )
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the run; check that a recording stored every call, and that a replay made them all."""
        if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
            message = f"the run was stopped by {InterruptedRunError.stop_cause(error)}"
            self._folder.end("interrupted", "interrupted", InterruptedRunError(message))
            return
        if error is not None:
            if isinstance(self._calls, RecordingCalls):
                self._calls.close()
            failure = error if isinstance(error, EikonError) else ScenarioError(f"{type(error).__name__}: {error}")
            self._folder.end("failed", "failed", failure)
            return
        try:
            self._calls.close()
            if isinstance(self._calls, RecordingCalls):
                self._calls.require_complete()
        except EikonError as found:
            self._folder.end("failed", "failed", found)
            raise
        self._folder.end("complete", "complete", None)

    async def __aenter__(self) -> Self:
        """Start the run."""
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the run."""
        self.__exit__(kind, error, trace)

    def _open_calls(self, root: Path) -> RecordingCalls | ReplayingCalls:
        options = self._options
        readers = CallObservers(self._folder.events)
        if options.mission is not None:
            readers.add(_MissionNotes(options.mission))
        if self._recorded is not None:
            make_folder(root / FIXTURES_FOLDER)
            return ReplayingCalls(self._recorded, options.secrets, readers, is_ordered=options.ordered)
        secrets = SecretFinder(options.secrets, RedactionRules() if options.redact else None, options.new_key())
        return RecordingCalls(root / FIXTURES_FOLDER, root.name, secrets, options.now, readers)


class _MissionNotes:
    """Note calls in a mission."""

    def __init__(self, mission: ToolNotes) -> None:
        self._mission = mission

    def on_call_started(self, made: ToolCallStart) -> None:
        """Do nothing: a call is noted with its result."""

    def on_call_finished(self, answered: ToolCallEnd) -> None:
        error = "" if answered.error is None else f"{answered.error.type}: {answered.error.message}"
        self._mission.tool(answered.start.tool, answered.start.args, result=answered.result, error=error)

    def on_completion(self, answered: ServedResponse) -> None:
        """Do nothing: `mission.completion` notes it."""
