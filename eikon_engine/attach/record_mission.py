"""Record and certify the mission of an agent without changing its code."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from anyio import to_thread
from anyio.from_thread import start_blocking_portal

from eikon_engine.attach.certified import certify_recording
from eikon_engine.attach.mission import AgentMission
from eikon_engine.attach.options import AttachOptions
from eikon_engine.attach.recording import AgentRecording, require_matching_api
from eikon_engine.browser.attached.session import require_context
from eikon_engine.errors import EikonError

if TYPE_CHECKING:
    from types import TracebackType


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
