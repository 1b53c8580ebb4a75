"""Record the tool calls of an agent of its own, or answer them from a recording; no scenario is needed."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from eikon_engine.errors import EikonError, InterruptedRunError, ScenarioError, UsageError
from eikon_engine.outcome.events import RunStart
from eikon_engine.redact.rules import RedactionRules
from eikon_engine.scenario.finding_secrets import FindingSecrets
from eikon_engine.scenario.fixture_folder import FixtureFolder
from eikon_engine.scenario.open_folder import OpenFolder
from eikon_engine.scenario.readers import CallReaders
from eikon_engine.scenario.recorded_calls import RecordedCalls
from eikon_engine.scenario.replayed_calls import ReplayedCalls
from eikon_engine.scenario.run_note import FIXTURES, RunNote, make_run_folder, versions
from eikon_engine.trace.wall_clock import fresh_key, utc_now

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from types import TracebackType

    from pydantic import JsonValue

    from eikon_engine.completions import Answered
    from eikon_engine.scenario.calls import CallAnswered, CallMade
    from eikon_engine.scenario.run_note import Mode
    from eikon_engine.scenario.tool_box import ToolBox


class ToolNotes(Protocol):
    """A mission that is being recorded, such as `record_mission` gives."""

    def tool(
        self, name: str, arguments: Mapping[str, JsonValue] | None = None, *, result: JsonValue = None, error: str = ""
    ) -> None:
        """Note the call of a tool with what it returned, or the error that it raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What can be chosen about the run of an agent."""

    goal: str = ""
    """What the run is about, in words."""
    allowed: tuple[str, ...] | None = None
    """The tools that may be called; None allows all of the box."""
    mission: ToolNotes | None = None
    """Where calls are noted as well, in their place among the actions."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Values that are written nowhere, by name; a replay needs none."""
    redact: bool = True
    """Whether secrets that nobody named are looked for, and replaced by stand-ins; see `docs/redaction.md`."""
    ordered: bool = True
    """Whether a replay has to make its calls in the recorded order; not for agents that call from several threads."""
    now: Callable[[], datetime] = utc_now
    new_key: Callable[[], bytes] = fresh_key
    """Where the key of stand-ins comes from, which is kept nowhere."""


def open_run(
    directory: Path | str,
    tools: ToolBox,
    *,
    mode: Mode = "record",
    fixtures: Path | str | None = None,
    options: RunOptions | None = None,
) -> AgentRun:
    """Open a run in a new folder, as a block, `with` or `async with`, inside of which tools are called.

    In mode `record` each call is executed and kept in `directory/fixtures`; in mode `replay` each is answered from
    `fixtures`, the folder of a recorded run, and nothing is executed.

    Raises:
        UsageError: a replay without fixtures, or a recording with some.
        OutputError: a run is there already, or the folder cannot be written.
        FixtureError: the fixtures cannot be used.
        UnknownToolError: a tool is allowed that the box does not know.
    """
    if (mode == "replay") != (fixtures is not None):
        message = "wanted fixtures with mode replay, and none with mode record; name the fixtures that answer a replay"
        raise UsageError(message)
    chosen = options or RunOptions()
    recorded = None if fixtures is None else FixtureFolder(Path(fixtures))
    if chosen.allowed is not None and recorded is None:
        tools = tools.allowing(chosen.allowed)
    return AgentRun(Path(directory), tools, recorded, chosen)


class AgentRun:
    """The run of an agent: its block, and its tools inside of it."""

    def __init__(self, directory: Path, tools: ToolBox, recorded: FixtureFolder | None, options: RunOptions) -> None:
        """Begin with the block; `open_run` makes it."""
        self.directory = directory
        self._box = tools
        self._recorded = recorded
        self._options = options

    @property
    def tools(self) -> ToolBox:
        """Return the tools, as they are called in this run."""
        return self._bound

    def call(self, name: str, args: Mapping[str, JsonValue] | None = None) -> Any:  # noqa: ANN401 - what the tool returns
        """Call a tool, see `ToolBox.call`."""
        return self._bound.call(name, args)

    async def acall(self, name: str, args: Mapping[str, JsonValue] | None = None) -> Any:  # noqa: ANN401 - as above
        """Call a tool without holding up the loop, see `ToolBox.acall`."""
        return await self._bound.acall(name, args)

    def note(self, text: str) -> None:
        """Say something in the events of the run."""
        self._folder.events.note(self._calls.secrets.redactor.text(text))

    def __enter__(self) -> Self:
        """Begin the run."""
        options = self._options
        started_at = options.now()
        root = make_run_folder(self.directory.parent, "", started_at, self.directory.name)
        note = RunNote(
            run_id=root.name,
            mode="record" if self._recorded is None else "replay",
            recording=None if self._recorded is None else self._recorded.note.run_id,
            started_at=started_at,
            versions=versions(),
        )
        self._folder = OpenFolder(root, note, options.now)
        self._calls = self._begun(root)
        if isinstance(self._calls, RecordedCalls):
            self._folder.redactor = self._calls.secrets.redactor
        self._bound = self._box.answered_by(self._calls)
        if options.allowed is not None:
            self._bound = self._bound.allowing(options.allowed)
        goal = self._calls.secrets.redactor.text(options.goal)
        self._folder.log.take(
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
        """End the run; a recording demands that every call was kept, a replay that all were made."""
        if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
            message = f"the run was stopped by {InterruptedRunError.stopper(error)}"
            self._folder.end("interrupted", "interrupted", InterruptedRunError(message))
            return
        if error is not None:
            if isinstance(self._calls, RecordedCalls):
                self._calls.close()
            said = error if isinstance(error, EikonError) else ScenarioError(f"{type(error).__name__}: {error}")
            self._folder.end("failed", "failed", said)
            return
        try:
            self._calls.close()
            if isinstance(self._calls, RecordedCalls):
                self._calls.demand_whole()
        except EikonError as found:
            self._folder.end("failed", "failed", found)
            raise
        self._folder.end("complete", "complete", None)

    async def __aenter__(self) -> Self:
        """Begin the run."""
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the run."""
        self.__exit__(kind, error, trace)

    def _begun(self, root: Path) -> RecordedCalls | ReplayedCalls:
        options = self._options
        readers = CallReaders(self._folder.events)
        if options.mission is not None:
            readers.add(_Noted(options.mission))
        if self._recorded is not None:
            (root / FIXTURES).mkdir()
            return ReplayedCalls(self._recorded, options.secrets, readers, is_ordered=options.ordered)
        secrets = FindingSecrets(options.secrets, RedactionRules() if options.redact else None, options.new_key())
        return RecordedCalls(root / FIXTURES, root.name, secrets, options.now, readers)


class _Noted:
    """Note calls in a mission."""

    def __init__(self, mission: ToolNotes) -> None:
        self._mission = mission

    def called(self, made: CallMade) -> None:
        """Wait for the answer."""

    def answered(self, answered: CallAnswered) -> None:
        error = "" if answered.error is None else f"{answered.error.type}: {answered.error.message}"
        self._mission.tool(answered.made.tool, answered.made.args, result=answered.result, error=error)

    def completed(self, answered: Answered) -> None:
        """Leave it to `mission.completion`."""
