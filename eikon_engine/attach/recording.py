"""The lifecycle of one agent recording: start, record, stop, complete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eikon_engine.browser.attached.session import is_over, kept_options, unwatch, watch
from eikon_engine.browser.attached.tap import Tap
from eikon_engine.browser.attached.view import impl_of
from eikon_engine.errors import UsageError
from eikon_engine.record.attempts import Attempts, status_after
from eikon_engine.record.keep_out import keep_secrets_out
from eikon_engine.record.mission_id import new_mission_id
from eikon_engine.record.onlooker import Onlooker
from eikon_engine.record.recorder import describe_error
from eikon_engine.record.responses import KeptResponses
from eikon_engine.record.skill_runs import SkillRuns
from eikon_engine.record.start import without_secrets, write_start
from eikon_engine.record.write import BundleWriter
from eikon_engine.redact.found import FoundSecrets
from eikon_engine.skills import default_skills
from eikon_engine.trace.execution import ExecutionTrace, Failure, NetworkPart

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping
    from datetime import datetime
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.attach.options import AttachOptions
    from eikon_engine.browser.attached.session import Watched
    from eikon_engine.browser.session import Session
    from eikon_engine.record.attempt import Attempt
    from eikon_engine.trace.execution import StartState


class Recording:
    """Record a context from `begin` to `complete` and write its bundle."""

    def __init__(self, wrapper: object, mission_text: str, directory: Path, options: AttachOptions) -> None:
        """Record the context behind `wrapper`, a Playwright context of either API."""
        self._wrapper: Any = wrapper
        self._mission_text = mission_text
        self._directory = directory
        self._options = options
        self._faults: list[Exception] = []
        self._is_listening = False
        self.skills = options.skills or default_skills()

    @property
    def is_synchronous(self) -> bool:
        """Return whether the agent uses the synchronous API."""
        return hasattr(self._wrapper, "_sync")

    @property
    def is_gone(self) -> bool:
        """Return whether the agent's event loop is closed."""
        return is_over(self._wrapper)

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
        return self._wrapper._sync(work) if self.is_synchronous else work  # noqa: SLF001 - the loop has no public name

    async def begin(self) -> None:
        """Start recording.

        Raises:
            UsageError: the context cannot be recorded, or not from this point on.
            OutputError: a recording exists already, or the folder cannot be written.
        """
        options = self._options
        self.writer = BundleWriter(self._directory)
        try:
            now = options.now()
            self._watched: Watched = await watch(
                self._wrapper,
                secrets=options.secrets,
                found=FoundSecrets(options.redaction, options.new_key()) if options.redact else None,
                network=self.writer.network,
                now=now,
                on_fault=self._faults.append,
            )
        except BaseException:
            self.writer.discard()
            raise
        self.session: Session = self._watched.session
        text = self.clean(self._mission_text)
        self.writer.begin(self._header(text, now))
        self.attempts = Attempts(self.writer, self.clean, options.now)
        self._responses = KeptResponses(self._directory, options.ask, self.clean, options.new_id)
        self.skill_runs = SkillRuns(
            writer=self.writer,
            attempts=self.attempts,
            ask=self._responses.client,
            clean=self.clean,
            clean_value=self.clean_value,
        )
        self._listen(text)

    def _header(self, text: str, now: datetime) -> ExecutionTrace:
        """Build the trace as known before the first action."""
        return ExecutionTrace(
            id=self._options.new_id(),
            mission_id=self._options.mission_id or new_mission_id(text, now),
            mission_text=text,
            started_at=now,
            status="running",
            environment=without_secrets(self.session, self.session.environment),
            start=self._start(),
            network=NetworkPart(),
        )

    def _listen(self, mission_text: str) -> None:
        self._onlooker = Onlooker(self._watched, self.writer, self.attempts, self._options.now, mission_text)
        self._tap = Tap(impl_of(self._wrapper)._connection, self._onlooker, self._faults.append)  # noqa: SLF001 - as above
        self._onlooker.asking.tap = self._tap
        self._tap.open()
        self._is_listening = True

    def _start(self) -> StartState:
        options = kept_options(self._watched)
        return write_start(self.session, self.writer, options, self._watched.storage_state)

    async def let_go(self) -> None:
        """Read what is still pending and stop observing; errors are recorded."""
        if not self._is_listening:
            return
        try:
            await self._onlooker.settle()
            await self._onlooker.flush()
        except Exception as error:  # noqa: BLE001 - the mission is over; its own outcome must not change
            self._faults.append(error)
        self._stop_listening()
        try:
            await unwatch(self._watched)
        except Exception as error:  # noqa: BLE001 - as above
            self._faults.append(error)

    def complete(self, error: BaseException | None) -> None:
        """Complete the bundle; `error` is the exception that ended the mission."""
        if self._is_listening:
            self._stop_listening()
            self.writer.warn("the agent's browser was closed before the recording ended; pending data is lost")
        self._onlooker.give_up()
        self._onlooker.leave_attempt(error)
        self._write_end(error)

    def _stop_listening(self) -> None:
        self._is_listening = False
        self._tap.close()
        self._onlooker.close()

    def begin_subgoal(self, description: str, subgoal_id: str | None) -> None:
        """Start an attempt; earlier steps outside any subgoal get an attempt of their own."""
        self._onlooker.leave_outside()
        self.attempts.begin(description, subgoal_id)

    def end_subgoal(self, error: BaseException | None) -> None:
        """End the attempt."""
        self._onlooker.leave_attempt(error)

    def attempt(self) -> Attempt:
        """Return the current attempt; steps outside any subgoal get an attempt of their own."""
        return self._onlooker.attempt()

    def clean(self, text: str) -> str:
        """Replace secret values by their names."""
        return self.session.redactor.text(text)

    def clean_value(self, value: JsonValue) -> JsonValue:
        """Redact all texts of a JSON value."""
        return self.session.redactor.redact_texts(value)

    def _write_end(self, error: BaseException | None) -> None:
        ledger = self.session.ledger
        status = status_after(error)
        ended_by = None if status == "complete" else error
        for each in filter(None, (ended_by, ledger.fault, *self._faults)):
            self.writer.add_failure(Failure(message=self.clean(describe_error(each))))
        if ended_by is not None:
            self.attempts.say(status)
        notes = (*self._watched.warnings, *self._watched.capture.warnings, *self.session.traffic.outcome().notes)
        for warning in (*notes, *(f"the recorder failed: {type(each).__name__}: {each}" for each in self._faults)):
            self.writer.warn(self.clean(warning))
        self._responses.end()
        self.writer.end(self._options.now(), self.attempts.status)
        keep_secrets_out(self._directory, self.session)


def require_kind(recording: Recording, *, synchronous: bool) -> None:
    """Check that the block matches the API of the agent.

    Raises:
        UsageError: `with` around an asynchronous agent, or `async with` around a synchronous one.
    """
    if recording.is_synchronous != synchronous:
        block, api = ("with", "synchronous") if recording.is_synchronous else ("async with", "asynchronous")
        message = f"the agent uses Playwright's {api} API; use `{block} record_mission(…)`"
        raise UsageError(message)
