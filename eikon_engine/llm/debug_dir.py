"""Capture responses into an empty folder, or replay the responses of a folder."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias, assert_never

from eikon_engine.errors import EikonError, UsageError
from eikon_engine.files.text import pluralize
from eikon_engine.files.wall_clock import random_id
from eikon_engine.llm.capture import AppendingClient, CapturingClient, LazyClient
from eikon_engine.llm.completion import no_redaction
from eikon_engine.llm.model_response import ignore_response
from eikon_engine.llm.replay import ReplayClient
from eikon_engine.llm.response_folder import ResponseWriter, exclusive_writer, read_folder, response_files
from eikon_engine.llm.rewrite_responses import (
    STAGING_FOLDER,
    commit_refresh,
    count_stale_responses,
    finish_refresh,
    is_refresh_ready,
    redact_locked_folder,
    start_refresh,
)
from eikon_engine.outcome.terminal import escape_control_characters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from eikon_engine.llm.completion import CompletionClient, RedactText
    from eikon_engine.llm.model_response import ModelResponse, ServedResponse
    from eikon_engine.llm.response_folder import ResponseFolder

_MAX_FILES_SHOWN: Final = 5


def opening_lines(debug_dir: DebugDir, stale_count: int) -> Iterator[str]:
    """Yield the lines for opening; `stale_count` is the number of responses of an interrupted refresh."""
    yield escape_control_characters(_mode_line(debug_dir))
    if stale_count:
        yield escape_control_characters(
            f"{debug_dir.root / STAGING_FOLDER}: {pluralize(stale_count, 'response')} of an "
            "interrupted refresh, unused; "
            "--refresh starts over"
        )


def _mode_line(debug_dir: DebugDir) -> str:
    recorded = pluralize(debug_dir.counts.recorded, "response")
    match debug_dir.mode:
        case "capture":
            return f"Capture mode: 0 responses recorded; new responses are saved to {debug_dir.root}"
        case "replay":
            return f"Replay mode: {recorded} from {debug_dir.root}; no model is asked"
        case "append":
            return (
                f"Replay mode: {recorded} from {debug_dir.root}; missing responses are requested and saved (--append)"
            )
        case "refresh":
            return (
                f"Capture mode: every response is recorded again and replaces {debug_dir.root} at the end (--refresh)"
            )
        case _:
            assert_never(debug_dir.mode)


def closing_lines(debug_dir: DebugDir, unused: tuple[ModelResponse, ...], *, is_complete: bool) -> Iterator[str]:
    """Yield what was saved, used and not used."""
    counts = debug_dir.counts
    if debug_dir.mode in {"replay", "append"}:
        yield escape_control_characters(
            f"Replay mode: {counts.replayed} of {pluralize(counts.recorded, 'response')} used"
        )
    if counts.missed:
        yield f"Replay mode: {pluralize(counts.missed, 'request')} had no recorded response"
    if unused and is_complete:
        yield escape_control_characters(
            f"Replay mode: {pluralize(len(unused), 'response')} not used: {_join_file_names(unused)}"
        )
    if debug_dir.mode != "replay":
        yield escape_control_characters(
            _saved_line(debug_dir, pluralize(counts.captured, "response"), is_complete=is_complete)
        )


def _saved_line(debug_dir: DebugDir, count: str, *, is_complete: bool) -> str:
    if is_complete:
        return f"Capture mode: {count} saved to {debug_dir.root}"
    if debug_dir.mode == "refresh":
        return f"Capture mode: interrupted after {count}; the old responses in {debug_dir.root} are unchanged"
    if debug_dir.mode == "append" and not debug_dir.counts.captured:
        return f"Capture mode: interrupted after {count}; {debug_dir.root} is unchanged"
    return f"Capture mode: interrupted after {count}; {debug_dir.root} is marked as incomplete"


def _join_file_names(responses: tuple[ModelResponse, ...]) -> str:
    names = ", ".join(each.file_name for each in responses[:_MAX_FILES_SHOWN])
    more = f" and {len(responses) - _MAX_FILES_SHOWN} more" if len(responses) > _MAX_FILES_SHOWN else ""
    return names + more


DebugDirMode: TypeAlias = Literal["capture", "replay", "append", "refresh"]

_RUN_FAILED: Final = 1
"""Exit status of a run that finished with a failure: its recording is complete."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugDirOptions:
    """Options of a folder of responses."""

    redact: RedactText = no_redaction
    """Redacts what is written and what is matched."""
    report: Callable[[str], None] = _logger.info
    """Receives report lines when the folder is opened and closed."""
    on_response: Callable[[ServedResponse], None] = ignore_response
    """Receives each served response, in the thread of its request."""
    records_outages: bool = False
    """Whether to record timeouts and unreachable servers; without them the folder is incomplete."""
    new_id: Callable[[], str] = random_id
    """Generates the recording id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseCounts:
    """Response counts of one run."""

    recorded: int
    """Responses available for replay."""
    replayed: int
    captured: int
    missed: int
    """Requests without a recorded response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugDirSetup:
    """Mode of a folder and the parts that implement it."""

    root: Path
    mode: DebugDirMode
    client: CompletionClient
    executor: ReplayClient
    writer: ResponseWriter | None = None


class DebugDir:
    """An open folder of responses, until its block ends or `close` is called."""

    def __init__(self, setup: DebugDirSetup, options: DebugDirOptions, resources: ExitStack) -> None:
        """Use a folder as chosen by `open_debug_dir`; `resources` are closed at the end."""
        self.root = setup.root
        self.mode: Final[DebugDirMode] = setup.mode
        self.client: Final = setup.client
        """The client for requests; thread-safe."""
        self._executor = setup.executor
        self._writer = setup.writer
        self._recorded = len(setup.executor.unused)
        self._count_before = 0 if setup.writer is None else setup.writer.count
        self._redact = options.redact
        self._report = options.report
        self._resources = resources
        self._is_open = True

    @property
    def counts(self) -> ResponseCounts:
        """Return the counts so far."""
        captured = 0 if self._writer is None else self._writer.count - self._count_before
        executor = self._executor
        return ResponseCounts(
            recorded=self._recorded, replayed=executor.served, captured=captured, missed=executor.missed
        )

    def close(self, *, finished: bool = True) -> tuple[ModelResponse, ...]:
        """End the recording, report the result, and return the recorded responses that were not requested.

        `finished` says whether the run came to its end; the folder of an interrupted run is rejected next time, and an
        interrupted refresh leaves the old responses in place. Later calls have no effect.

        Raises:
            OutputError: the end cannot be written.
        """
        unused = self._executor.unused
        if self._is_open:
            self._is_open = False
            with self._resources:
                is_whole = self._end(finished=finished)
            for line in closing_lines(self, unused, is_complete=is_whole):
                self._report(line)
        return unused

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; a run that ended with one of our failures is complete, an interrupted one is not."""
        failed = isinstance(error, EikonError) and error.exit_status == _RUN_FAILED
        self.close(finished=error is None or failed)

    def _end(self, *, finished: bool) -> bool:
        """End the recording; return whether it is complete."""
        if self._writer is None:
            return finished
        is_whole = self._writer.end(finished=finished)
        if self._redact is not no_redaction:
            redact_locked_folder(self._writer.root, self._redact)  # with secrets found in the meantime
        if self.mode == "refresh" and is_whole:
            commit_refresh(self.root)
        return is_whole


def open_debug_dir(
    path: str | Path,
    live: Callable[[], CompletionClient],
    *,
    refresh: bool = False,
    append: bool = False,
    options: DebugDirOptions | None = None,
) -> DebugDir:
    """Open a folder of responses: capture if it is empty, replay otherwise.

    `refresh` captures again and replaces the old responses once the run is complete; `append` replays and captures what
    is missing, also for an interrupted recording. `live` creates the model client on first use.

    Raises:
        UsageError: both are given.
        ResponseFolderError: the folder is unreadable, corrupt, incomplete, or in use by another run.
        OutputError: it cannot be written.
    """
    if refresh and append:
        message = "--refresh captures every response again, --append only missing ones; use one of them"
        raise UsageError(message)
    root = Path(path)
    chosen = options or DebugDirOptions()
    with ExitStack() as stack:
        if refresh or append or is_refresh_ready(root) or read_folder(root).is_empty:
            stack.enter_context(exclusive_writer(root))
            finish_refresh(root)
        stale_count = count_stale_responses(root)
        is_refresh = refresh and bool(response_files(root))
        setup = (
            _refresh_setup(root, live, chosen)
            if is_refresh
            else _setup_for_content(read_folder(root), live, chosen, append=append)
        )
        opened = DebugDir(setup, chosen, stack.pop_all())
    for line in opening_lines(opened, stale_count):
        chosen.report(line)
    return opened


def _refresh_setup(root: Path, live: Callable[[], CompletionClient], options: DebugDirOptions) -> DebugDirSetup:
    writer = ResponseWriter(start_refresh(root), options.new_id())
    writer.start()
    client = _create_capturing_client(live, writer, options)
    return DebugDirSetup(
        root=root, mode="refresh", client=client, executor=_create_executor((), options), writer=writer
    )


def _setup_for_content(
    folder: ResponseFolder, live: Callable[[], CompletionClient], options: DebugDirOptions, *, append: bool
) -> DebugDirSetup:
    root, executor = folder.root, _create_executor(folder.responses, options)
    if not folder.is_empty and not append:
        folder.require_complete()
        return DebugDirSetup(root=root, mode="replay", client=executor, executor=executor)
    writer = ResponseWriter(root, folder.recording_id or options.new_id(), folder.responses)
    capturing = _create_capturing_client(live, writer, options)
    if folder.is_empty:
        writer.start()
        return DebugDirSetup(root=root, mode="capture", client=capturing, executor=executor, writer=writer)
    client = AppendingClient(executor, capturing)
    return DebugDirSetup(root=root, mode="append", client=client, executor=executor, writer=writer)


def _create_executor(responses: tuple[ModelResponse, ...], options: DebugDirOptions) -> ReplayClient:
    return ReplayClient(responses, redact=options.redact, on_response=options.on_response)


def _create_capturing_client(
    live: Callable[[], CompletionClient], writer: ResponseWriter, options: DebugDirOptions
) -> CompletionClient:
    """Create the client on first use, before the latency measurement starts."""

    def make() -> CompletionClient:
        return CapturingClient(
            live(),
            writer,
            redact=options.redact,
            on_response=options.on_response,
            records_outages=options.records_outages,
        )

    return LazyClient(make)
