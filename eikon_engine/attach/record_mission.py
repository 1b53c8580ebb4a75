"""Record the mission of an agent, its code unchanged, and certify the recording."""

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
from eikon_engine.attach.recording import Recording, require_kind
from eikon_engine.browser.attached.session import context_of
from eikon_engine.errors import EikonError

if TYPE_CHECKING:
    from types import TracebackType


_logger = logging.getLogger(__name__)


def record_mission(
    context_or_page: object, *, mission_text: str, directory: Path | str, options: AttachOptions | None = None
) -> RecordedMission:
    """Record everything that is done in a browser context, as a context manager around the code of an agent.

    `context_or_page` is one of Playwright's, of its synchronous API for `with`, of its asynchronous one for
    `async with`; nothing has been opened in it yet. The agent keeps its own time and waits, and nothing is repeated.
    An error that leaves the block is recorded and goes on. After the block the bundle in `directory` is certified.

    Raises:
        UsageError: it is no context, not one of Chromium, or shows a document already.
        OutputError: a recording is there already, or the folder cannot be written.
    """
    chosen = options or AttachOptions()
    return RecordedMission(Recording(context_of(context_or_page), mission_text, Path(directory), chosen), chosen)


class RecordedMission:
    """The block in which a mission is recorded."""

    def __init__(self, recording: Recording, options: AttachOptions) -> None:
        """Record with the block; `record_mission` makes both."""
        self._recording = recording
        self._options = options
        self._mission = AgentMission(recording)

    def __enter__(self) -> AgentMission:
        """Begin to record."""
        require_kind(self._recording, synchronous=True)
        self._recording.run(self._recording.begin())
        return self._mission

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Complete the bundle, and certify it."""
        if not self._recording.is_gone:
            self._recording.run(self._recording.let_go())
        self._recording.complete(error)
        self._certify()

    async def __aenter__(self) -> AgentMission:
        """Begin to record."""
        require_kind(self._recording, synchronous=False)
        await self._recording.begin()
        return self._mission

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Complete the bundle, and certify it."""
        await self._recording.let_go()
        self._recording.complete(error)
        await to_thread.run_sync(self._certify)

    def _certify(self) -> None:
        if self._options.certify is None:
            return
        chosen = replace(self._options.certify, secrets={**self._options.certify.secrets, **self._recording.secrets})
        with start_blocking_portal() as portal:
            try:
                self._mission.report = portal.call(certify_recording, self._recording.directory, chosen)
            except EikonError as error:  # the mission went as it went; what is missing is said, and can be made up for
                _logger.warning("%s: recorded, and not certified: %s", self._recording.directory, error.message)
                return
        for note in self._mission.report.notes:
            _logger.warning("%s: %s", self._recording.directory, note)
        if self._mission.report.status != "certified":
            status = self._mission.report.status
            _logger.warning("%s: recorded, and not certified: its replays are %s", self._recording.directory, status)
