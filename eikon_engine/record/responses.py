"""Keep what models answer to the skills of a mission, in its bundle."""

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
    from eikon_engine.completions.cleaned import Clean


class KeptResponses:
    """What skills ask while a mission is recorded, until the block ends; a mission that asks nothing has no folder.

    However the mission ends, what is kept is whole: it has every answer that a skill of the trace got. One that is
    still on its way then is for a skill that was given up, and is not kept.
    """

    def __init__(self, directory: Path, ask: CompletionClient | None, clean: Clean, new_id: Callable[[], str]) -> None:
        """Keep what `ask` answers in the bundle at `directory`, without secrets; None where no model can be asked."""
        self._writer = ResponseWriter(directory / RESPONSES_FOLDER, new_id()) if ask is not None else None
        self.client: CompletionClient | None = None
        """What skills ask."""
        if ask is not None and self._writer is not None:
            self.client = CapturingClient(ask, self._writer, clean=clean)

    def end(self) -> None:
        """Say that no more is asked.

        Raises:
            OutputError: that cannot be written.
        """
        if self._writer is not None:
            self._writer.end(whole=self._writer.count > 0, abandons=True)

    def __enter__(self) -> Self:
        """Keep what comes."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self.end()
