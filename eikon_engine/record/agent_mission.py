"""Record and certify the mission of an agent without changing its code."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from anyio import to_thread
from anyio.from_thread import start_blocking_portal

from eikon_engine.browser.attach.call_interceptor import CallInterceptor
from eikon_engine.browser.attach.context import (
    attach,
    detach,
    require_context,
    start_options,
    take_snapshot,
)
from eikon_engine.browser.playwright_internals import (
    connection_of,
    is_loop_closed,
    is_synchronous,
    run_synchronously,
)
from eikon_engine.errors import EikonError, UsageError
from eikon_engine.record.agent_recorder import AgentRecorder
from eikon_engine.record.attempts import Attempts, status_for_error
from eikon_engine.record.bundle_writer import BundleWriter
from eikon_engine.record.certify_recording import certify_recording
from eikon_engine.record.mission_id import new_mission_id
from eikon_engine.record.options import AttachOptions
from eikon_engine.record.recorder import describe_error
from eikon_engine.record.redaction import redact_recording
from eikon_engine.record.skill_runs import CompletionCapture, SkillCall, SkillRunner, tool_usage
from eikon_engine.record.start_state import redact_environment, write_start_state
from eikon_engine.redact.secret_detector import SecretDetector
from eikon_engine.skills import default_skills
from eikon_engine.trace.execution import (
    CompletionUsage,
    ExecutionTrace,
    Failed,
    Failure,
    NetworkPart,
    Succeeded,
)

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from datetime import datetime
    from types import TracebackType

    from pydantic import JsonValue

    from eikon_engine.browser.attach.context import AttachedContext
    from eikon_engine.browser.session import Session
    from eikon_engine.outcome.certification import CertificationReport
    from eikon_engine.record.bundle_writer import Attempt
    from eikon_engine.trace.execution import MissionStatus, StartState


class AgentMission:
    """Add what actions do not show: subgoals, skills, tools, completions, extractions. All of it is optional."""

    def __init__(self, recording: AgentRecording) -> None:
        """Wrap a recording; created by `record_mission`."""
        self._recording = recording
        self.report: CertificationReport | None = None
        """The certification report, after the block; None if certifying was skipped or failed."""

    def subgoal(self, description: str, *, subgoal_id: str | None = None) -> Subgoal:
        """Group the steps of the block, `with` or `async with`, as one attempt at a subgoal.

        An exception that leaves the block is recorded as the failure of the attempt and re-raised.
        """
        return Subgoal(self._recording, description, subgoal_id)

    def skill(
        self, name: str, *, page: int = 0, frame: str = "", parameters: Mapping[str, JsonValue] | None = None
    ) -> Any:  # noqa: ANN401 - its output, or where it will be
        """Run a skill on the current DOM of a page and record its use; asynchronous agents await the output.

        Raises:
            UnknownSkillError: there is no such skill.
            SkillError: it failed; the failure is recorded.
            CompletionError: the model it asked failed; the failure is recorded.
            UsageError: the page, or the frame, is not open, or the subgoal ended before the skill did.
        """
        return self._recording.run(self._skill(name, page, frame, dict(parameters or {})))

    def tool(
        self, name: str, arguments: Mapping[str, JsonValue] | None = None, *, result: JsonValue = None, error: str = ""
    ) -> None:
        """Record a tool call with its result or error."""
        attempt, redactor = self._current_attempt(), self._recording.session.redactor
        usage = tool_usage(attempt, redactor, name, arguments, result=result, error=error)
        self._recording.writer.add_tool(attempt, usage)

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
        self._recording.writer.add_extraction(self._recording.redact(name), self._recording.redact_value(value))

    def warn(self, text: str) -> None:
        """Add a warning to the recording."""
        self._recording.writer.warn(self._recording.redact(text))

    def finish(self, status: MissionStatus) -> None:
        """Set the mission status explicitly instead of deriving it from subgoals and errors."""
        self._recording.attempts.set_status(status)

    def _current_attempt(self) -> Attempt:
        return self._recording.current_attempt()

    async def _skill(self, name: str, page: int, frame: str, parameters: dict[str, JsonValue]) -> JsonValue:
        call = SkillCall(skill=self._recording.skills.get(name), page=page, frame=frame, parameters=parameters)
        snapshot = await take_snapshot(self._recording.session, page)
        return await self._recording.skill_runner.run(self._current_attempt(), snapshot, call)


class Subgoal:
    """Context manager for one attempt at a subgoal, synchronous and asynchronous."""

    def __init__(self, recording: AgentRecording, description: str, subgoal_id: str | None) -> None:
        """Start the attempt when the block is entered."""
        self._recording = recording
        self._description = description
        self._subgoal_id = subgoal_id

    def __enter__(self) -> Self:
        self._recording.start_subgoal(self._description, self._subgoal_id)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._recording.end_subgoal(error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)


class AgentRecording:
    """Record a context from `begin` to `complete` and write its bundle."""

    def __init__(self, wrapper: object, mission_text: str, directory: Path, options: AttachOptions) -> None:
        """Record the context behind `wrapper`, a Playwright context of either API."""
        self._client_object: Any = wrapper
        self._mission_text = mission_text
        self._directory = directory
        self._options = options
        self._errors: list[Exception] = []
        self._is_listening = False
        self.skills = options.skills or default_skills()

    @property
    def is_synchronous(self) -> bool:
        """Return whether the agent uses the synchronous API."""
        return is_synchronous(self._client_object)

    @property
    def is_loop_closed(self) -> bool:
        """Return whether the agent's event loop is closed."""
        return is_loop_closed(self._client_object)

    @property
    def secrets(self) -> Mapping[str, str]:
        """Return the secret values by name, declared and found ones."""
        return self.session.secrets.values

    @property
    def directory(self) -> Path:
        """Return the folder of the bundle."""
        return self._directory

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
        self.writer = BundleWriter(self._directory)
        try:
            now = options.now()
            self._attached: AttachedContext = await attach(
                self._client_object,
                secrets=options.secrets,
                detector=SecretDetector(options.redaction, options.new_key()) if options.redact else None,
                network=self.writer.network,
                now=now,
                on_error=self._errors.append,
            )
        except BaseException:
            self.writer.discard()
            raise
        self.session: Session = self._attached.session
        text = self.redact(self._mission_text)
        self.writer.start(self._build_header(text, now))
        self.attempts = Attempts(self.writer, self.redact, options.now)
        self._capture = CompletionCapture(self._directory, options.completion_client, self.redact, options.new_id)
        self.skill_runner = SkillRunner(
            writer=self.writer,
            attempts=self.attempts,
            completion_client=self._capture.client,
            redact=self.redact,
            redact_value=self.redact_value,
        )
        self._start_listening(text)

    def _build_header(self, text: str, now: datetime) -> ExecutionTrace:
        """Build the trace as known before the first action."""
        return ExecutionTrace(
            id=self._options.new_id(),
            mission_id=self._options.mission_id or new_mission_id(text, now),
            mission_text=text,
            started_at=now,
            status="running",
            environment=redact_environment(self.session, self.session.environment),
            start=self._write_start_state(),
            network=NetworkPart(),
        )

    def _start_listening(self, mission_text: str) -> None:
        self._recorder = AgentRecorder(self._attached, self.writer, self.attempts, self._options.now, mission_text)
        self._interceptor = CallInterceptor(
            connection_of(self._client_object),
            self._recorder,
            self._errors.append,
        )
        self._recorder.target_probe.interceptor = self._interceptor
        self._interceptor.start()
        self._is_listening = True

    def _write_start_state(self) -> StartState:
        options = start_options(self._attached)
        return write_start_state(self.session, self.writer, options, self._attached.storage_state)

    async def stop(self) -> None:
        """Read what is still pending and stop observing; errors are recorded."""
        if not self._is_listening:
            return
        try:
            await self._recorder.settle()
            await self._recorder.flush()
        except Exception as error:  # noqa: BLE001 - the mission is over; its own outcome must not change
            self._errors.append(error)
        self._stop_listening()
        try:
            await detach(self._attached)
        except Exception as error:  # noqa: BLE001 - as above
            self._errors.append(error)

    def finish(self, error: BaseException | None) -> None:
        """Complete the bundle; `error` is the exception that ended the mission."""
        if self._is_listening:
            self._stop_listening()
            self.writer.warn("the agent's browser was closed before the recording ended; pending data is lost")
        self._recorder.abandon()
        self._recorder.close_attempt(error)
        self._complete_bundle(error)

    def _stop_listening(self) -> None:
        self._is_listening = False
        self._interceptor.stop()
        self._recorder.close()

    def start_subgoal(self, description: str, subgoal_id: str | None) -> None:
        """Start an attempt; earlier steps outside any subgoal get an attempt of their own."""
        self._recorder.close_implicit_attempt()
        self.attempts.start(description, subgoal_id)

    def end_subgoal(self, error: BaseException | None) -> None:
        """End the attempt."""
        self._recorder.close_attempt(error)

    def current_attempt(self) -> Attempt:
        """Return the current attempt; steps outside any subgoal get an attempt of their own."""
        return self._recorder.current_attempt()

    def redact(self, text: str) -> str:
        """Replace secret values by their names."""
        return self.session.redactor.redact_text(text)

    def redact_value(self, value: JsonValue) -> JsonValue:
        """Redact all texts of a JSON value."""
        return self.session.redactor.redact_json(value)

    def _complete_bundle(self, error: BaseException | None) -> None:
        ledger = self.session.tracker
        status = status_for_error(error)
        ended_by = None if status == "complete" else error
        for each in filter(None, (ended_by, ledger.error, *self._errors)):
            self.writer.add_failure(Failure(message=self.redact(describe_error(each))))
        if ended_by is not None:
            self.attempts.set_status(status)
        notes = (*self._attached.warnings, *self._attached.capture.warnings, *self.session.traffic.outcome().notes)
        for warning in (*notes, *(f"the recorder failed: {type(each).__name__}: {each}" for each in self._errors)):
            self.writer.warn(self.redact(warning))
        self._capture.close()
        self.writer.finish(self._options.now(), self.attempts.status)
        redact_recording(self._directory, self.session)


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
    is recorded and re-raised. After the block, the bundle in `directory` is certified.

    Raises:
        UsageError: not a Chromium context or page, or a document is already loaded.
        OutputError: a recording exists already, or the folder cannot be written.
    """
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
        self._mission = AgentMission(recording)

    def __enter__(self) -> AgentMission:
        require_matching_api(self._recording, synchronous=True)
        self._recording.run(self._recording.start())
        return self._mission

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._recording.is_loop_closed:
            self._recording.run(self._recording.stop())
        self._recording.finish(error)
        self._certify()

    async def __aenter__(self) -> AgentMission:
        require_matching_api(self._recording, synchronous=False)
        await self._recording.start()
        return self._mission

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._recording.stop()
        self._recording.finish(error)
        await to_thread.run_sync(self._certify)

    def _certify(self) -> None:
        if self._options.certify is None:
            return
        chosen = replace(self._options.certify, secrets={**self._options.certify.secrets, **self._recording.secrets})
        with start_blocking_portal() as portal:
            try:
                self._mission.report = portal.call(certify_recording, self._recording.directory, chosen)
            except EikonError as error:  # the recording is complete; it can be certified later
                _logger.warning("%s: recorded but not certified: %s", self._recording.directory, error.message)
                return
        for note in self._mission.report.notes:
            _logger.warning("%s: %s", self._recording.directory, note)
        if self._mission.report.status != "certified":
            status = self._mission.report.status
            _logger.warning("%s: recorded but not certified: replays are %s", self._recording.directory, status)
