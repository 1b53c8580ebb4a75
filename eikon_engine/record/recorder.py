"""Record a mission by performing its actions: each goes through the worker and into the bundle."""

from __future__ import annotations

import mimetypes
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from eikon_engine.browser.worker import BrowserWorker, with_identities
from eikon_engine.dom import render_plain_html
from eikon_engine.errors import InternalError, UsageError
from eikon_engine.files.paths import safe_file_name
from eikon_engine.llm.completion_usage import usage_from_response
from eikon_engine.record.bundle_writer import SCREENSHOTS_FOLDER
from eikon_engine.record.skill_runs import SkillCall, find_document
from eikon_engine.record.weak_targets import find_weak_targets
from eikon_engine.trace.actions import Evaluate, Expect, FileInput, Navigate, Read
from eikon_engine.trace.execution import (
    ActionTrace,
    Artifact,
)
from eikon_engine.trace.variables import resolve_action

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from pydantic import JsonValue

    from eikon_engine.browser.worker import PerformedAction
    from eikon_engine.llm import ModelResponse
    from eikon_engine.outcome.outcomes import FailedRequest
    from eikon_engine.record.bundle_writer import Attempt
    from eikon_engine.record.recording import Recording
    from eikon_engine.skills.registry import SkillRegistry
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import MissionStatus
    from eikon_engine.trace.observation import Observation


class MissionRecorder:
    """Perform the actions of a mission and record each one when it ends."""

    def __init__(
        self, worker: BrowserWorker, recording: Recording, skills: SkillRegistry, variables: Mapping[str, str]
    ) -> None:
        """Record what `worker` does; created by `open_recorder`."""
        self._worker = worker
        self._recording = recording
        self._attempts = recording.attempts
        self._skills = skills
        self._variables = variables
        self.last_action: ActionTrace | None = None
        """The last recorded action, including a failed one."""

    @asynccontextmanager
    async def subgoal(self, description: str, *, subgoal_id: str | None = None) -> AsyncIterator[None]:
        """Group the steps of the block as one attempt at a subgoal.

        An exception that leaves the block is recorded as the failure of the attempt and re-raised.
        """
        self._attempts.start(description, subgoal_id)
        try:
            yield
        except BaseException as error:
            self._attempts.end(error)
            raise
        else:
            self._attempts.end()

    async def perform(self, action: Action) -> Observation:
        """Perform one action, record it and return its observation.

        Variables are performed with their values and recorded by name.

        Raises:
            ActionError: the action failed; the failure is recorded and expected again at replay.
        """
        attempt = self._require_attempt()
        started_at = self._recording.now()
        resolved = resolve_action(action, self._variables)
        if isinstance(resolved, Navigate):
            self._worker.session.detect_in_text(resolved.url, by_page=True)
        performed = await self._worker.execute(resolved)
        sequence = attempt.next_sequence()
        trace = ActionTrace(
            id=f"{attempt.id}_action_{sequence:03d}",
            sequence=sequence,
            started_at=started_at,
            ended_at=self._recording.now(),
            action=self._with_value(with_identities(action, performed), performed),
            result=performed.result,
            observation=self._store_observation(performed),
            artifacts=self._store_screenshot(attempt, sequence, performed),
        )
        self.last_action = trace = self._recording.write_action(attempt, trace, resolved)
        for weak in find_weak_targets(trace):  # the author can still choose better selectors
            self.warn(str(weak))
        if performed.error is not None:
            raise performed.error
        if trace.observation is None:
            message = f"action {trace.id} has no observation"
            raise InternalError(message)
        return trace.observation

    async def skill(
        self, name: str, *, page: int = 0, frame: str = "", parameters: Mapping[str, JsonValue] | None = None
    ) -> JsonValue:
        """Run a skill on the current DOM of a page and record its use.

        Raises:
            RequirementError: the registry does not have it.
            SkillError: it failed; the failure is recorded.
            CompletionError: the model it asked failed; the failure is recorded.
            UsageError: the page has no such frame, or the subgoal ended before the skill did.
        """
        attempt = self._require_attempt()
        call = SkillCall(skill=self._skills.get(name), page=page, frame=frame, parameters=dict(parameters or {}))
        return await self._recording.skill_runner.run(attempt, await self._worker.snapshot(page), call)

    def tool(self, name: str, arguments: dict[str, JsonValue], *, result: JsonValue = None, error: str = "") -> None:
        """Record a tool call with its result or error."""
        self._recording.write_tool(self._require_attempt(), name, arguments, result=result, error=error)

    def completion(self, response: ModelResponse) -> None:
        """Record the response of a language model."""
        attempt = self._require_attempt()
        sequence = attempt.next_sequence()
        usage = usage_from_response(response, f"{attempt.id}_completion_{sequence:03d}", sequence)
        self._recording.writer.add_completion(attempt, usage)

    @property
    def failed_requests(self) -> tuple[FailedRequest, ...] | None:
        """Return the page requests that failed so far; None if unknown."""
        return self._worker.network_outcome().failed

    def redact_text(self, text: str) -> str:
        """Replace secrets by placeholders and stand-ins, as in everything that is written."""
        return self._recording.redact(text)

    def redact_value(self, value: JsonValue) -> JsonValue:
        """Redact all texts of a JSON value."""
        return self._recording.redact_value(value)

    async def html(self, *, page: int = 0, frame: str = "") -> str:
        """Return the current page as redacted HTML for the mission to decide on; nothing is recorded.

        Raises:
            PageMissingError: the page is not open.
            UsageError: it has no such frame.
        """
        return render_plain_html(find_document(await self._worker.snapshot(page), page, frame))

    def attach_file(self, path: str | Path) -> FileInput:
        """Store a file in the bundle for an upload field.

        Raises:
            UsageError: the file cannot be read.
        """
        path = Path(path)
        try:
            content = path.read_bytes()
        except OSError as error:
            message = f"cannot read the upload {path}: {error.strerror}; check the path"
            raise UsageError(message) from error
        return self.attach_content(path.name, mimetypes.guess_type(path.name)[0] or "application/octet-stream", content)

    def attach_content(self, name: str, mime_type: str, content: bytes) -> FileInput:
        """Store content in the bundle as a file for an upload field."""
        return FileInput(name=name, mime_type=mime_type, content=self._recording.writer.store_file(content))

    def extraction(self, name: str, value: JsonValue) -> None:
        """Record extracted data."""
        self._recording.write_extraction(name, value)

    def warn(self, text: str) -> None:
        """Add a warning to the recording."""
        self._recording.warn(text)

    def finish(self, status: MissionStatus) -> None:
        """Set the mission status explicitly instead of deriving it from the subgoals."""
        self._attempts.set_status(status)

    @property
    def status(self) -> MissionStatus:
        """The mission status so far: complete unless the last attempt of some subgoal failed or was aborted."""
        return self._attempts.status

    def _require_attempt(self) -> Attempt:
        if self._attempts.current is None:
            message = "actions and skills must run inside a subgoal; use `async with mission.subgoal(…)`"
            raise UsageError(message)
        return self._attempts.current

    def _store_observation(self, performed: PerformedAction) -> Observation | None:
        captured = performed.captured
        if captured is None or performed.observation is None:
            return None
        for seen, content, url in captured.downloads:
            if content is not None:
                self._recording.context.capture.take_download(url, seen.name, content)
        pages = tuple(
            page.model_copy(update={"snapshot": self._recording.writer.store_snapshot(captured.snapshots[page.page])})
            for page in performed.observation.pages
        )
        return performed.observation.model_copy(update={"pages": pages, "value": None})

    def _with_value(self, action: Action, performed: PerformedAction) -> Action:
        """Return the action with what it read, or for a failed assertion, with what the page had instead."""
        value = performed.observation.value if performed.observation is not None else None
        if value is not None and value.long is not None and performed.long_text is not None:
            self._recording.writer.store_file(performed.long_text.encode())
        if isinstance(action, Read | Evaluate):
            return action.model_copy(update={"value": value})
        return action.model_copy(update={"received": value}) if isinstance(action, Expect) else action

    def _store_screenshot(self, attempt: Attempt, sequence: int, performed: PerformedAction) -> tuple[Artifact, ...]:
        if performed.screenshot is None:
            return ()
        name = safe_file_name(attempt.id, "subgoal")
        path = f"{SCREENSHOTS_FOLDER}/{self._attempts.count:02d}_{name}_{sequence:03d}.png"
        self._recording.writer.write_file(path, performed.screenshot)
        return (Artifact(name="screenshot", path=path),)
