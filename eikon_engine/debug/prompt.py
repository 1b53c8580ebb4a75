"""The prompt: words are read with completion and history, and what happens is shown above it as it comes."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import Completer, Completion
from prompt_toolkit.history import FileHistory
from prompt_toolkit.patch_stdout import patch_stdout

from eikon_engine.debug.client import Newest
from eikon_engine.errors import EventsError, OutputError, SessionError
from eikon_engine.trace.whole_file import cannot_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from prompt_toolkit.completion import CompleteEvent
    from prompt_toolkit.document import Document

    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.outcome.events import JournalLine

HISTORY_FILE: Final = "prompt_history"
_LOOK_S: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """What the prompt does with words."""

    run: Callable[[str], bool]
    """Carry out a line; return whether the prompt goes on."""
    complete: Callable[[str], Iterable[str]]
    """Return what the last word of a line may become."""
    show: Callable[[JournalLine], None]
    """Show what happens."""
    kept: Callable[[str], str | None]
    """Return a line that was carried out as it may be written down; None if it may not be."""


class _History(FileHistory):
    """Remember lines at once, and write them when it is known what of them is secret."""

    def store_string(self, string: str) -> None:
        """Write nothing yet."""

    def keep(self, string: str) -> None:
        """Write a line."""
        super().store_string(string)


class _Completing(Completer):
    def __init__(self, complete: Callable[[str], Iterable[str]]) -> None:
        self._complete = complete

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:  # noqa: ARG002 - the library's signature
        text = document.text_before_cursor
        begun = text.rpartition(" ")[2]
        for word in self._complete(text):
            yield Completion(word, start_position=-len(begun))


def run_prompt(folder: SessionFolder, words: Words) -> None:
    """Read lines until somebody leaves, or the session ends; what is typed is kept for the next time.

    Raises:
        OutputError: the history cannot be kept.
        EventsError: the events cannot be read.
    """
    history = _History(str(_history(folder.root.parent / HISTORY_FILE)))
    prompt: PromptSession[str] = PromptSession(
        history=history,
        completer=_Completing(words.complete),
        complete_while_typing=False,
    )
    with patch_stdout(raw=True), _followed(folder, words.show, lambda: _leave(prompt)):
        while folder.runs():
            try:
                text = prompt.prompt(lambda: _place(folder))
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            if not text.strip():
                continue
            goes_on = words.run(text)
            if (kept := words.kept(text)) is not None:
                history.keep(kept)
            if not goes_on:
                return


def _place(folder: SessionFolder) -> str:
    try:
        active = folder.read_timeline().active
    except SessionError:
        return "> "
    return f"{active.name} {active.iteration}/{active.step_count}> "


def _history(path: Path) -> Path:
    """Make the file of the history, for its user alone."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError as error:
        raise OutputError(cannot_write(path, error)) from error
    return path


def _leave(prompt: PromptSession[str]) -> None:
    """Let the prompt end from another thread, if it waits for a line just now."""
    loop = prompt.app.loop
    if loop is not None and prompt.app.is_running:
        loop.call_soon_threadsafe(lambda: prompt.app.exit(exception=EOFError()) if prompt.app.is_running else None)


@contextmanager
def _followed(folder: SessionFolder, show: Callable[[JournalLine], None], ended: Callable[[], None]) -> Iterator[None]:
    """Show what happens from now on, in a thread of its own; `ended` is called when the session is over."""
    over = threading.Event()
    newest = Newest(folder.events)

    def follow() -> None:
        while not over.is_set():
            runs = folder.runs()
            try:
                for line in newest.read():
                    show(line)
            except EventsError as error:
                print(error.message)  # noqa: T201 - above the prompt
                break
            if not runs:
                break
            over.wait(_LOOK_S)
        ended()

    thread = threading.Thread(target=follow, name="events", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        newest.close()
