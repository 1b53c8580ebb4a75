"""The artifacts folder of one run; an earlier run is renamed, never overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.errors import OutputError
from eikon_engine.outcome.event_log import EVENTS_FILE
from eikon_engine.trace.whole_file import write_atomically, write_error_message

if TYPE_CHECKING:
    from pathlib import Path

OUTCOME_FILE: Final = "outcome.json"


class ArtifactsFolder:
    """Write the artifacts of one run."""

    def __init__(self, root: Path) -> None:
        """Create the folder; the artifacts of an earlier run move to `<folder>.1`, `<folder>.2` ….

        Raises:
            OutputError: it cannot be written, or holds files that are not replay artifacts.
        """
        self.root = root
        try:
            _move_earlier_run(root)
            root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(write_error_message(root, error)) from error

    def write(self, name: str, content: str | bytes) -> str:
        """Write a file atomically; return its path relative to the folder."""
        write_atomically(self.root / name, content.encode() if isinstance(content, str) else content)
        return name


def _move_earlier_run(root: Path) -> None:
    if not root.exists():
        return
    if not root.is_dir():
        message = f"{root}: expected an artifacts folder, got a file. Choose another --artifacts-dir."
        raise OutputError(message)
    content = {entry.name for entry in root.iterdir()}
    if not content:
        return
    if EVENTS_FILE not in content and OUTCOME_FILE not in content:
        message = f"{root} holds files that are not replay artifacts ({min(content)}). Choose another --artifacts-dir."
        raise OutputError(message)
    number = 1
    while (aside := root.with_name(f"{root.name}.{number}")).exists():
        number += 1
    root.rename(aside)
