"""Record and certify the mission of an agent without changing its code."""

from __future__ import annotations

import asyncio
import logging
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from anyio import CancelScope

from eikon_engine.browser.attach.context import require_context, take_snapshot
from eikon_engine.browser.launch import ignore_calls_to_gone_browser
from eikon_engine.browser.playwright_internals import (
    DeferredInterrupts,
    connection_of,
    is_synchronous,
    loop_of,
    run_synchronously,
    run_while_connected,
)
from eikon_engine.errors import EikonError, UsageError
from eikon_engine.interrupts import open_portal
from eikon_engine.record.agent_recorder import AgentRecorder
from eikon_engine.record.attempts import status_for_error
from eikon_engine.record.options import AttachOptions
from eikon_engine.record.recording import Recording
from eikon_engine.record.skill_runs import SkillCall
from eikon_engine.skills import default_skills
from eikon_engine.trace.execution import CompletionUsage, Failed, Succeeded

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping
    from types import TracebackType

    from pydantic import JsonValue

    from eikon_engine.browser.playwright_internals import Connection
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.outcome.certification import CertificationReport
    from eikon_engine.record.bundle_writer import Attempt
    from eikon_engine.skills.registry import SkillRegistry
    from eikon_engine.trace.execution import MissionStatus


class AgentMission:
    """Add what actions do not show: subgoals, skills, tools, completions, extractions. All of it is optional."""

    def __init__(self, agent: AgentRecording, skills: SkillRegistry) -> None:
        """Add to the recording of an agent; created by `record_mission`."""
        self._agent = agent
        self._skills = skills
        self.report: CertificationReport | None = None
        """The certification report, after the block; None if certifying was skipped or failed."""

    def subgoal(self, description: str, *, subgoal_id: str | None = None) -> Subgoal:
        """Group the steps of the block, `with` or `async with`, as one attempt at a subgoal.

        An exception that leaves the block is recorded as the failure of the attempt and re-raised.
        """
        return Subgoal(self._agent, description, subgoal_id)

    def skill(
        self, name: str, *, page: int = 0, frame: str = "", parameters: Mapping[str, JsonValue] | None = None
    ) -> Any:  # noqa: ANN401 - its output, or where it will be
        """Run a skill on the current DOM of a page and record its use; asynchronous agents await the output.

        Raises:
            RequirementError: there is no such skill.
            SkillError: it failed; the failure is recorded.
            CompletionError: the model it asked failed; the failure is recorded.
            UsageError: the page, or the frame, is not open, or the subgoal ended before the skill did.
        """
        return self._agent.run(self._skill(name, page, frame, dict(parameters or {})))

    def tool(
        self, name: str, arguments: Mapping[str, JsonValue] | None = None, *, result: JsonValue = None, error: str = ""
    ) -> None:
        """Record a tool call with its result or error."""
        self._recording.write_tool(self._current_attempt(), name, arguments, result=result, error=error)

    def completion(
        self, *, prompt: JsonValue, response: JsonValue = None, model: str | None = None, error: str = ""
    ) -> None:
        """Record the prompt and the response, or error, of a language model."""
        attempt, clean = self._current_attempt(), self._recording.redact_value
        sequence = attempt.next_sequence()
        usage = CompletionUsage(
            id=f"{attempt.id}_completion_{sequence:03d}",
            sequence=sequence,
            model=model,
            prompt=clean(prompt),
            response=clean(response),
            result=Failed(code="completion-failed", message=self._recording.redact(error)) if error else Succeeded(),
        )
        self._recording.writer.add_completion(attempt, usage)

    def extraction(self, name: str, value: JsonValue) -> None:
        """Record extracted data."""
        self._recording.write_extraction(name, value)

    def warn(self, text: str) -> None:
        """Add a warning to the recording."""
        self._recording.warn(text)

    def finish(self, status: MissionStatus) -> None:
        """Set the mission status explicitly instead of deriving it from subgoals and errors."""
        self._recording.attempts.set_status(status)

    @property
    def _recording(self) -> Recording:
        return self._agent.recording

    def _current_attempt(self) -> Attempt:
        return self._agent.recorder.current_attempt()

    async def _skill(self, name: str, page: int, frame: str, parameters: dict[str, JsonValue]) -> JsonValue:
        call = SkillCall(skill=self._skills.get(name), page=page, frame=frame, parameters=parameters)
        snapshot = await take_snapshot(self._recording.session, page)
        return await self._recording.skill_runner.run(self._current_attempt(), snapshot, call)


class Subgoal:
    """Context manager for one attempt at a subgoal, synchronous and asynchronous."""

    def __init__(self, agent: AgentRecording, description: str, subgoal_id: str | None) -> None:
        """Start the attempt when the block is entered."""
        self._agent = agent
        self._description = description
        self._subgoal_id = subgoal_id

    def __enter__(self) -> Self:
        self._agent.recorder.close_implicit_attempt()
        self._agent.recording.attempts.start(self._description, self._subgoal_id)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._agent.recorder.close_attempt(error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)


class AgentRecording:
    """The recording of a context that an agent drives through its own Playwright client."""

    def __init__(self, client_object: object, mission_text: str, directory: Path, options: AttachOptions) -> None:
        """Record the context behind `client_object`, a Playwright context of either API."""
        self._client_object: Any = client_object
        self._mission_text = mission_text
        self._options = options
        self.directory = directory
        """The folder of the bundle."""

    @property
    def is_synchronous(self) -> bool:
        """Return whether the agent uses the synchronous API."""
        return is_synchronous(self._client_object)

    @property
    def connection(self) -> Connection:
        """Return the connection of the agent's client."""
        return connection_of(self._client_object)

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:  # noqa: ANN401 - what the work gives, or where it will be
        """Run a coroutine in the agent's loop: at once for a synchronous agent, else to be awaited."""
        return run_synchronously(self._client_object, work) if self.is_synchronous else work

    async def start(self) -> None:
        """Start recording.

        Raises:
            UsageError: the context cannot be recorded, or not from this point on.
            OutputError: a recording exists already, or the folder cannot be written.
        """
        options = self._options
        recording = Recording(self.directory, options, mission_text=self._mission_text, mission_id=options.mission_id)
        async with recording.discarded_on_error():
            await recording.attach(self._client_object)
            recording.recorder = self.recorder = AgentRecorder(recording, self._client_object)
        self.recording = recording

    def start_synchronously(self) -> None:
        """Start recording an agent that uses the synchronous API; `KeyboardInterrupt` is deferred from now on."""
        self._interrupts = DeferredInterrupts(self._client_object)
        try:
            self.run(self.start())
        except BaseException:
            self._interrupts.restore()
            raise

    async def stop(self) -> None:
        """Read what is still pending and stop observing; errors are recorded."""
        await self.recording.stop()

    def stop_synchronously(self) -> None:
        """Do the same for an agent that uses the synchronous API, unless its driver has exited."""
        try:
            run_while_connected(self._client_object, self.stop())
        finally:
            self._interrupts.restore()

    def finish(self, error: BaseException | None) -> None:
        """Complete the bundle; `error` is the exception that ended the mission."""
        self.recorder.note_browser_gone(was_closed=True)
        self.recorder.close()
        self.let_driver_exit(error)
        self.recording.finish(error)

    def let_driver_exit(self, error: BaseException | None) -> None:
        """Expect the driver to exit before the agent if it was interrupted: Ctrl-C reaches both."""
        if status_for_error(error) == "aborted":
            ignore_calls_to_gone_browser(loop_of(self._client_object))


def require_matching_api(recording: AgentRecording, *, synchronous: bool) -> None:
    """Check that the block matches the API of the agent.

    Raises:
        UsageError: `with` around an asynchronous agent, or `async with` around a synchronous one.
    """
    if recording.is_synchronous != synchronous:
        block, api = ("with", "synchronous") if recording.is_synchronous else ("async with", "asynchronous")
        message = f"the agent uses Playwright's {api} API; use `{block} record_mission(…)`"
        raise UsageError(message)


_logger = logging.getLogger(__name__)


def record_mission(
    context_or_page: object, *, mission_text: str, directory: Path | str, options: AttachOptions | None = None
) -> RecordedMission:
    """Record everything an agent does in a browser context; a context manager around the agent's code.

    `context_or_page` is a Playwright context or page without a loaded document: of the synchronous API for `with`, of
    the asynchronous one for `async with`. The agent is neither delayed nor retried. An exception that leaves the block
    is recorded and re-raised. After the block, the bundle in `directory` is certified unless the mission is aborted.

    Raises:
        UsageError: not a Chromium context or page, a document is already loaded, or an argument has the wrong type.
        OutputError: a recording exists already, or the folder cannot be written.
    """
    for name, value, kinds, expected in (
        ("mission_text", mission_text, str, "a text"),
        ("directory", directory, (str, Path), "the path of a folder"),
        ("options", options, (AttachOptions, type(None)), "AttachOptions(…)"),
    ):
        if not isinstance(value, kinds):
            message = f"record_mission: {name}: expected {expected}, got {type(value).__name__}"
            raise UsageError(message)
    chosen = options or AttachOptions()
    return RecordedMission(
        AgentRecording(require_context(context_or_page), mission_text, Path(directory), chosen), chosen
    )


class RecordedMission:
    """Context manager of a recorded mission."""

    def __init__(self, recording: AgentRecording, options: AttachOptions) -> None:
        """Start recording when the block is entered; created by `record_mission`."""
        self._recording = recording
        self._options = options
        self._mission = AgentMission(recording, options.skills or default_skills())

    def __enter__(self) -> AgentMission:
        require_matching_api(self._recording, synchronous=True)
        self._recording.start_synchronously()
        return self._mission

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._recording.stop_synchronously()
        except BaseException as stop:
            self._recording.finish(error or stop)
            raise
        self._recording.finish(error)
        options = self._certify_options(error)
        if options is not None:
            with self._warns_without_result(), open_portal() as portal:
                self._conclude(portal.call(self._prepare_or_close, options))

    async def __aenter__(self) -> AgentMission:
        require_matching_api(self._recording, synchronous=False)
        await self._recording.start()
        return self._mission

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._recording.stop()
        except BaseException as stop:
            self._recording.finish(error or stop)
            raise
        self._recording.finish(error)
        options = self._certify_options(error)
        if options is not None:
            with self._warns_without_result(), open_portal() as portal:
                running = portal.start_task_soon(self._prepare_or_close, options)
                self._conclude(await asyncio.wrap_future(running))

    def _certify_options(self, error: BaseException | None) -> CertifyOptions | None:
        """Return how to certify the recording; None if it is not to be certified."""
        if self._options.certify is not None and status_for_error(error) == "aborted":
            self._warn("recorded but not certified: the mission was interrupted")
            return None
        return self._options.certify

    @contextmanager
    def _warns_without_result(self) -> Iterator[None]:
        """Warn that the mission is recorded but not certified if certifying it fails or is stopped."""
        later = f"run `eikon certify {self._recording.directory}` later"
        try:
            yield
        except EikonError as failure:  # the recording is complete
            self._warn(f"recorded but not certified: {failure.message}")
        except KeyboardInterrupt:
            self._warn(f"recorded but not certified: stopped by the user; {later}")
            raise
        except asyncio.CancelledError:
            self._warn(f"recorded but not certified: cancelled; {later}")
            raise

    async def _prepare_or_close(self, options: CertifyOptions) -> Callable[[], CertificationReport]:
        """Replay the recording; if this is cancelled, its browser is closed first.

        Runs in a thread of its own, which writes nothing: nothing is left to happen if the agent's loop is stopped.
        """
        running = asyncio.ensure_future(self._recording.recording.prepare_certificate(options))
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            running.cancel()
            with CancelScope(shield=True):
                await asyncio.gather(running, return_exceptions=True)
            raise

    def _conclude(self, write_result: Callable[[], CertificationReport]) -> None:
        """Write the result of certifying into the bundle and log what the agent's developer should know."""
        report = self._mission.report = write_result()
        for note in report.notes:
            self._warn(note)
        if report.status != "certified":
            self._warn(f"recorded but not certified: {report.reason}. Next: {report.next_step}")

    def _warn(self, text: str) -> None:
        _logger.warning("%s: %s", self._recording.directory, text)
