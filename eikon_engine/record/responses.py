"""Capture the completions that skills request during a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.completions.capture import CapturingClient
from eikon_engine.completions.folder import RESPONSES_FOLDER
from eikon_engine.completions.writer import ResponseWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from eikon_engine.completions import CompletionClient
    from eikon_engine.completions.cleaned import RedactText


class CompletionCapture:
    """Capture completions into the bundle until the block ends; without requests no folder is created.

    The capture is complete however the mission ends: it holds the response to every skill run in the trace. A response
    still pending at the end belongs to a cancelled skill and is dropped.
    """

    def __init__(
        self, directory: Path, ask: CompletionClient | None, redact: RedactText, new_id: Callable[[], str]
    ) -> None:
        """Capture the responses of `ask`, redacted, into the bundle at `directory`; None disables models."""
        self._writer = ResponseWriter(directory / RESPONSES_FOLDER, new_id()) if ask is not None else None
        self.client: CompletionClient | None = None
        """The client that skills use."""
        if ask is not None and self._writer is not None:
            self.client = CapturingClient(ask, self._writer, redact=redact)

    def close(self) -> None:
        """Close the capture.

        Raises:
            OutputError: the end cannot be written.
        """
        if self._writer is not None:
            self._writer.end(finished=self._writer.count > 0, ignore_pending=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
