"""The interactive prompt: read lines with completion and history, and print events above it as they arrive."""

from __future__ import annotations

import os
import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.history import FileHistory
from prompt_toolkit.patch_stdout import patch_stdout

from eikon_engine.debug.client import Connection
from eikon_engine.debug.protocol import EventMessage, FollowRequest, SessionEnded
from eikon_engine.errors import OutputError, SessionEndedError, SessionError
from eikon_engine.files.writing import write_error_message

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from eikon_engine.debug.session_folder import SessionFolder

HISTORY_FILE: Final = "prompt_history"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptActions:
    """What the prompt does with input."""

    execute: Callable[[str], bool]
    """Execute a line; return whether to continue."""
    complete: Callable[[str], Iterable[str]]
    """Return completions of the last word of a line."""
    show_event: Callable[[EventMessage], None]
    """Print an event."""
    redact_line: Callable[[str], str | None]
    """Return a line as it may be written to the history; None if it must not be."""


class _RedactedHistory(FileHistory):
    """Remember lines at once, but write them only once redacted."""

    def store_string(self, string: str) -> None:
        """Defer writing until the line is redacted."""

    def write_line(self, string: str) -> None:
        """Write a line."""
        super().store_string(string)


class _PromptCompleter(Completer):
    def __init__(self, complete: Callable[[str], Iterable[str]]) -> None:
        self._complete = complete

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002 - the library's signature
        text = document.text_before_cursor
        begun = text.rpartition(" ")[2]
        for word in self._complete(text):
            yield Completion(word, start_position=-len(begun))


def run_prompt(folder: SessionFolder, actions: PromptActions) -> None:
    """Read lines until the user leaves or the session ends; the history is kept for the next prompt.

    Raises:
        OutputError: the history cannot be written.
        SessionEndedError: the session ended.
    """
    history = _RedactedHistory(str(_create_history_file(folder.root.parent / HISTORY_FILE)))
    prompt: PromptSession[str] = PromptSession(
        history=history,
        completer=_PromptCompleter(actions.complete),
        complete_while_typing=False,
    )
    with patch_stdout(raw=True), _follow_events(folder, actions.show_event, lambda: _exit_prompt(prompt)):
        while folder.is_running():
            try:
                text = prompt.prompt(lambda: _prompt_text(folder))
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if not text.strip():
                continue
            continues = actions.execute(text)
            if (kept := actions.redact_line(text)) is not None:
                history.write_line(kept)
            if not continues:
                return


def _prompt_text(folder: SessionFolder) -> str:
    try:
        active = folder.read_timeline().active
    except SessionError:
        return "> "
    return f"{active.name} {active.iteration}/{active.step_count}> "


def _create_history_file(path: Path) -> Path:
    """Create the history file, readable for its user only."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError as error:
        raise OutputError(write_error_message(path, error)) from error
    return path


def _exit_prompt(prompt: PromptSession[str]) -> None:
    """Exit the prompt from another thread, if it is waiting for input."""
    loop = prompt.app.loop
    if loop is not None and prompt.app.is_running:
        loop.call_soon_threadsafe(lambda: prompt.app.exit(exception=EOFError()) if prompt.app.is_running else None)


@contextmanager
def _follow_events(
    folder: SessionFolder, show: Callable[[EventMessage], None], on_ended: Callable[[], None]
) -> Iterator[None]:
    """Print events from now on in a background thread; `on_ended` is called when the session is over."""
    with closing(Connection(folder)) as connection:
        connection.send(FollowRequest())

        def follow() -> None:
            try:
                for message in connection.messages():
                    if isinstance(message, EventMessage):
                        show(message)
                    elif isinstance(message, SessionEnded) and message.reason is not None:
                        print(message.reason)  # noqa: T201 - above the prompt
            except SessionEndedError as error:
                print(error.message)  # noqa: T201 - as above
            on_ended()

        thread = threading.Thread(target=follow, name="events", daemon=True)
        thread.start()
        try:
            yield
        finally:
            connection.stop()
            thread.join()
