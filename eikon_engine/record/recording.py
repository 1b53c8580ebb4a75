"""The lifecycle of a recording, whether its context is launched or attached, and its recorder acts or observes.

1. `Recording(…)` creates the bundle with its journal.
2. `start` writes the header: from now on, a process that is killed leaves what was recorded.
3. The recorder writes actions, each with the secrets found so far: a `MissionRecorder` those it performs itself, an
   `AgentRecorder` the calls of an agent, an `InteractiveRecorder` the gestures of a person.
4. `stop` writes what is pending and detaches from the pages of others.
5. `finish` writes failures, warnings and status, turns the journal into `trace.json` and redacts the bundle.
6. `certify` replays it until its replays agree.
"""

from __future__ import annotations

import hashlib
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from eikon_engine.browser.attach.context import attach
from eikon_engine.certify.certify import certify, conclude
from eikon_engine.record.attempts import Attempts, describe_error, status_for_error
from eikon_engine.record.bundle_writer import BundleWriter
from eikon_engine.record.mission_id import new_mission_id
from eikon_engine.record.redaction import redact_action, redact_recording
from eikon_engine.record.skill_runs import CompletionCapture, SkillRunner, tool_usage
from eikon_engine.record.start_state import redact_environment, write_start_state
from eikon_engine.redact.secret_detector import SecretDetector
from eikon_engine.replay.permissions import navigated_schemes
from eikon_engine.secrets.redaction import Redaction
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.execution import ExecutionTrace, Failure, LostData, NetworkPart
from eikon_engine.trace.variables import one_name_per_value

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from pydantic import JsonValue

    from eikon_engine.browser.session import Session
    from eikon_engine.browser.traffic.capture import NetworkCapture
    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.outcome.certification import CertificationReport
    from eikon_engine.record.action_log import ActionLog
    from eikon_engine.record.bundle_writer import Attempt
    from eikon_engine.record.options import AttachOptions, RecordOptions
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.environment import Environment, SessionStorage, StorageState
    from eikon_engine.trace.execution import ActionTrace


class ObservedContext(Protocol):
    """A browser context whose pages and network are recorded: launched by us, or attached."""

    @property
    def session(self) -> Session:
        """Return the session."""

    @property
    def capture(self) -> NetworkCapture:
        """Return the running network capture."""

    @property
    def environment(self) -> Environment:
        """Return the environment, as stored in the trace."""

    @property
    def storage_state(self) -> StorageState:
        """Return the storage state at the start."""

    @property
    def session_storage(self) -> SessionStorage:
        """Return the session storage at the start."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return what makes replays differ from it."""

    async def close(self) -> None:
        """Read pending data and stop observing."""


class Recording:
    """One mission and the bundle it is recorded into."""

    def __init__(
        self,
        directory: Path,
        options: RecordOptions | AttachOptions,
        *,
        mission_text: str,
        mission_id: str | None = None,
        variables: Mapping[str, str] | None = None,
        should_store_responses: bool = True,
    ) -> None:
        """Create the bundle.

        Raises:
            OutputError: a recording exists already, or the folder cannot be written.
        """
        self.directory = directory
        self.writer = BundleWriter(directory)
        self.now = options.now
        self.mission_text = mission_text
        """Redacted once the recording has started."""
        self.recorder: ActionLog[Any] | None = None
        """Where actions come from, unless we perform them; set by the caller that starts the recorder."""
        self.errors: list[Exception] = []
        """Errors of the recorder, which agent and person do not notice."""
        self._lost: dict[LostData, None] = {}
        """What is in the journal already."""
        self._lost_count = 0
        """How much was lost when it was last written."""
        self.warnings: tuple[str, ...] = ()
        """Warnings about the recording as a whole, once it is finished."""
        self._options = options
        self._mission_id = mission_id
        self._variables = variables or {}
        self._is_observing = False
        """Whether `context` is known."""
        self._responses: CompletionCapture | None = None
        self._should_store_responses = should_store_responses

    @asynccontextmanager
    async def discarded_on_error(self) -> AsyncIterator[None]:
        """Stop observing and remove the bundle if the block, which starts the recording, fails."""
        try:
            yield
        except BaseException:
            try:
                if self._is_observing:
                    with suppress(Exception):  # why it did not start is what matters
                        await self.context.close()
            finally:
                self.writer.discard()
            raise

    async def attach(self, client_object: object) -> None:
        """Start with the context of an agent or a person; runs in the event loop of its client.

        Raises:
            UsageError: the context cannot be recorded, or not from this point on.
        """
        context = await attach(
            client_object,
            secrets=one_name_per_value(self._options.secrets),
            detector=new_secret_detector(self._options),
            network=self.writer.network,
            random_seed=_draw_seed(self._options.new_key()),
            on_error=self.errors.append,
        )
        self.start(context)

    def start(self, context: ObservedContext) -> None:
        """Write the start state and the trace as known before the first action."""
        self.context = context
        self._is_observing = True
        session = self.session = context.session
        environment = redact_environment(session, context.environment)
        start = write_start_state(session, self.writer, context.storage_state, context.session_storage)
        started_at = self.now()
        self.mission_text = self.redact(self.mission_text)
        self.writer.start(
            ExecutionTrace(
                id=self._options.new_id(),
                mission_id=self._mission_id or new_mission_id(self.mission_text, started_at),
                mission_text=self.mission_text,
                started_at=started_at,
                status="running",
                environment=environment,
                start=start,
                network=NetworkPart(),
                variables={name: self.redact(value) for name, value in self._variables.items()},
            )
        )
        self.attempts = Attempts(self.writer, self.redact, self.now)
        client = self._options.completion_client
        if self._should_store_responses:
            self._responses = CompletionCapture(self.directory, client, self.redact, self._options.new_id)
            client = self._responses.client
        self.skill_runner = SkillRunner(
            writer=self.writer,
            attempts=self.attempts,
            completion_client=client,
            redact=self.redact,
            redact_value=self.redact_value,
        )

    @property
    def secrets(self) -> Mapping[str, str]:
        """Return the secret values by name, declared and found ones."""
        return self.session.secrets.values

    def redact(self, text: str) -> str:
        """Replace the secrets known by now."""
        return self.session.redactor.redact_text(text)

    def redact_value(self, value: JsonValue) -> JsonValue:
        """Redact all texts of a JSON value."""
        return self.session.redactor.redact_json(value)

    def write_action(self, attempt: Attempt, trace: ActionTrace, resolved: Action | None = None) -> ActionTrace:
        """Write a redacted action, and what was lost and which secrets were found so far: a killed process leaves all.

        `resolved` is the action with its variables substituted.
        """
        redacted = trace.model_copy(update={"action": redact_action(self.session, trace.action, resolved)})
        self.writer.add_action(attempt, redacted)
        self._write_lost_data()
        if self.session.secret_detector is not None:
            self.writer.write_redaction(Redaction(found=self.session.secret_detector.table))
        return redacted

    def write_tool(
        self, attempt: Attempt, name: str, arguments: Mapping[str, JsonValue] | None, *, result: JsonValue, error: str
    ) -> None:
        """Write a tool call with its result or error."""
        usage = tool_usage(attempt, self.session.redactor, name, arguments, result=result, error=error)
        self.writer.add_tool(attempt, usage)

    def write_extraction(self, name: str, value: JsonValue) -> None:
        """Write extracted data."""
        self.writer.add_extraction(self.redact(name), self.redact_value(value))

    def warn(self, text: str) -> None:
        """Write a warning."""
        self.writer.warn(self.redact(text))

    def lose(self, what: str, why: str) -> None:
        """Note data of the mission that is missing, so that no replay can be faithful, with a warning."""
        lost = LostData(what=self.redact(what), why=self.redact(why))
        if self._add_lost_data(lost):
            self.writer.warn(f"{lost.what} was lost: {lost.why}")

    async def stop(self) -> Exception | None:
        """Write what is pending and detach; errors are kept for `finish`, and the first one is returned."""
        if self.recorder is None or self.recorder.is_closed:
            return None
        known = len(self.errors)
        try:
            await self.recorder.settle()
            await self.recorder.flush()
        except Exception as error:  # noqa: BLE001 - the mission is over; its own outcome must not change
            self.errors.append(error)
        except BaseException:
            if not self.recorder.is_closed:  # else its loop has stopped, and the bundle was completed without it
                self.recorder.abandon()
                self.recorder.close()
                self.lose("what was pending at the end of the mission", "the end of the recording was interrupted")
            raise
        self.recorder.close()
        try:
            await self.context.close()
        except Exception as error:  # noqa: BLE001 - as above
            self.errors.append(error)
        return next(iter(self.errors[known:]), None)

    def finish(self, error: BaseException | None = None) -> None:
        """Complete the bundle; `error` is the exception that ended the mission."""
        status = status_for_error(error)
        if status != "complete":
            self.attempts.set_status(status)
        try:
            if self.recorder is not None:
                self.recorder.abandon()
                self.recorder.close_attempt(error)
                self.recorder.close()
            self._write_failures(None if status == "complete" else error)
            self._write_warnings()
            if self._responses is not None:
                self._responses.close()
        except Exception:
            self.attempts.set_status("failed")
            raise
        finally:
            self._write_lost_data()
            self.writer.finish(self.now(), self.attempts.status)
            redact_recording(self.directory, self.session)

    async def certify(self, options: CertifyOptions) -> CertificationReport:
        """Certify the finished recording, see `certify_recording`."""
        return (await self.prepare_certificate(options))()

    async def prepare_certificate(self, options: CertifyOptions) -> Callable[[], CertificationReport]:
        """Do the same without writing anything, see `prepare_certificate`.

        The mission has navigated wherever its replays do.
        """
        schemes = navigated_schemes(open_bundle(self.directory).trace)
        allowed = tuple(dict.fromkeys((*options.allow_schemes, *schemes)))
        chosen = replace(options, secrets={**options.secrets, **self.secrets}, allow_schemes=allowed)
        return await prepare_certificate(self.directory, chosen)

    def _write_failures(self, ended_by: BaseException | None) -> None:
        failures: list[BaseException] = []
        for each in (ended_by, self.session.tracker.error, *self.errors):
            if each is not None and not any(each is other for other in failures):
                failures.append(each)
        for each in failures:
            self.writer.add_failure(Failure(message=self.redact(describe_error(each))))

    @property
    def _failures_of_recorder(self) -> tuple[str, ...]:
        return tuple(f"the recorder failed: {type(each).__name__}: {each}" for each in self.errors)

    def _write_lost_data(self) -> None:
        """Write to the journal what was lost since the last time."""
        count = self.context.capture.lost_count + len(self.errors)
        if count == self._lost_count:
            return
        self._lost_count = count
        errors = (LostData(what="a part of the mission", why=self.redact(why)) for why in self._failures_of_recorder)
        for lost in (*self.context.capture.lost, *errors):
            self._add_lost_data(lost)

    def _add_lost_data(self, lost: LostData) -> bool:
        """Write lost data to the journal; return whether it is not there yet."""
        is_new = lost not in self._lost
        if is_new:
            self._lost[lost] = None
            self.writer.add_lost_data(lost)
        return is_new

    def _write_warnings(self) -> None:
        notes = (
            *_shared_value_warnings(self._options.secrets),
            *self.context.warnings,
            *self.context.capture.warnings,
            *self.session.traffic.outcome().notes,
            *(f"page {page} crashed" for page in self.session.tracker.crashed_pages),
            *self._failures_of_recorder,
        )
        self.warnings = tuple(map(self.redact, notes))
        for warning in self.warnings:
            self.writer.warn(warning)


def new_secret_detector(options: RecordOptions | AttachOptions) -> SecretDetector | None:
    """Return the detector of undeclared secrets; None if they are not searched for."""
    return SecretDetector(options.redaction, options.new_key()) if options.redact else None


def _shared_value_warnings(secrets: Mapping[str, str]) -> Iterator[str]:
    """Yield a warning for each name of a secret that is not recorded, because a later name has its value."""
    kept = {value: name for name, value in one_name_per_value(secrets).items()}
    for name, value in secrets.items():
        if kept[value] != name:
            yield f"secrets {name} and {kept[value]} have the same value, so both are recorded as {kept[value]}"


def _draw_seed(key: bytes) -> int:
    """Derive a separate seed for each recording, since sites store the random values of their pages."""
    return 1 + int.from_bytes(hashlib.sha256(key).digest()[:4], "big") % (2**31 - 1)


async def certify_recording(directory: Path, options: CertifyOptions) -> CertificationReport:
    """Replay a recording until its replays agree and accept the result as the first baseline.

    Raises:
        EikonError: as `certify`.
    """
    return (await prepare_certificate(directory, options))()


async def prepare_certificate(directory: Path, options: CertifyOptions) -> Callable[[], CertificationReport]:
    """Replay a recording until its replays agree; the returned function writes the result into the bundle.

    Raises:
        EikonError: as `certify`.
    """
    bundle = open_bundle(directory)
    return partial(conclude, bundle, await certify(bundle, options), options, accepts=True)
