"""The lifecycle of one agent recording: start, record, stop, complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eikon_engine.browser.attached.session import attach, detach, is_loop_closed, start_options
from eikon_engine.browser.attached.tap import CallInterceptor
from eikon_engine.browser.attached.view import impl_of
from eikon_engine.errors import UsageError
from eikon_engine.record.attempts import Attempts, status_for_error
from eikon_engine.record.keep_out import redact_recording
from eikon_engine.record.mission_id import new_mission_id
from eikon_engine.record.onlooker import AgentRecorder
from eikon_engine.record.recorder import describe_error
from eikon_engine.record.responses import CompletionCapture
from eikon_engine.record.skill_runs import SkillRunner
from eikon_engine.record.start import redact_environment, write_start_state
from eikon_engine.record.write import BundleWriter
from eikon_engine.redact.found import SecretDetector
from eikon_engine.skills import default_skills
from eikon_engine.trace.execution import ExecutionTrace, Failure, NetworkPart

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from datetime import datetime
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.attach.options import AttachOptions
    from eikon_engine.browser.attached.session import AttachedContext
    from eikon_engine.browser.session import Session
    from eikon_engine.record.attempt import Attempt
    from eikon_engine.trace.execution import StartState


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
        return hasattr(self._client_object, "_sync")

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
        return self._client_object._sync(work) if self.is_synchronous else work  # noqa: SLF001 - the loop has no public name

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
            impl_of(self._client_object)._connection, self._recorder, self._errors.append
        )  # noqa: SLF001 - as above
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
