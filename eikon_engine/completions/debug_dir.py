"""Capture responses into an empty folder, or replay the responses of a folder."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Self, TypeAlias

from eikon_engine.completions.answered import ignore
from eikon_engine.completions.append import AppendingClient, ClientOnDemand
from eikon_engine.completions.capture import CapturingClient
from eikon_engine.completions.cleaned import as_it_is
from eikon_engine.completions.folder import read_folder, response_files
from eikon_engine.completions.refresh import begin_refresh, commit_refresh, finish_refresh, is_ready, left_by_refresh
from eikon_engine.completions.replay import ReplayExecutor
from eikon_engine.completions.rewrite import rewrite_own
from eikon_engine.completions.sole_writer import sole_writer
from eikon_engine.completions.told import told_at_close, told_at_open
from eikon_engine.completions.writer import ResponseWriter
from eikon_engine.errors import EikonError, UsageError
from eikon_engine.trace.wall_clock import fresh_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from eikon_engine.completions.answered import Answered
    from eikon_engine.completions.cleaned import Clean
    from eikon_engine.completions.client import CompletionClient
    from eikon_engine.completions.folder import ResponseFolder
    from eikon_engine.completions.model_response import ModelResponse

Mode: TypeAlias = Literal["capture", "replay", "append", "refresh"]

_FAILED: Final = 1
"""Exit status of a run that finished with a failure: its recording is complete."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugDirOptions:
    """Options of a folder of responses."""

    clean: Clean = as_it_is
    """Redacts what is written and what is matched."""
    tell: Callable[[str], None] = _logger.info
    """Receives report lines when the folder is opened and closed."""
    watch: Callable[[Answered], None] = ignore
    """Receives each served response, in the thread of its request."""
    keeps_outages: bool = False
    """Whether to record timeouts and unreachable servers; without them the folder is incomplete."""
    new_id: Callable[[], str] = fresh_id
    """Generates the recording id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Response counts of one run."""

    recorded: int
    """Responses available for replay."""
    replayed: int
    captured: int
    missed: int
    """Requests without a recorded response."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Mode of a folder and the parts that implement it."""

    root: Path
    mode: Mode
    client: CompletionClient
    executor: ReplayExecutor
    writer: ResponseWriter | None = None


class DebugDir:
    """An open folder of responses, until its block ends or `close` is called."""

    def __init__(self, use: Use, options: DebugDirOptions, held: ExitStack) -> None:
        """Use a folder as chosen by `open_debug_dir`; `held` is closed at the end."""
        self.root = use.root
        self.mode: Final[Mode] = use.mode
        self.client: Final = use.client
        """The client for requests; thread-safe."""
        self._executor = use.executor
        self._writer = use.writer
        self._recorded = len(use.executor.unused)
        self._before = 0 if use.writer is None else use.writer.count
        self._clean = options.clean
        self._tell = options.tell
        self._held = held
        self._is_open = True

    @property
    def counts(self) -> Counts:
        """Return the counts so far."""
        captured = 0 if self._writer is None else self._writer.count - self._before
        executor = self._executor
        return Counts(recorded=self._recorded, replayed=executor.given, captured=captured, missed=executor.missed)

    def close(self, *, whole: bool = True) -> tuple[ModelResponse, ...]:
        """End the recording, report the result, and return the recorded responses that were not requested.

        `whole` says whether the run finished; the folder of an interrupted run is rejected next time, and an
        interrupted refresh leaves the old responses in place. Later calls have no effect.

        Raises:
            OutputError: the end cannot be written.
        """
        unused = self._executor.unused
        if self._is_open:
            self._is_open = False
            with self._held:
                is_whole = self._end(whole=whole)
            for line in told_at_close(self, unused, whole=is_whole):
                self._tell(line)
        return unused

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; a run that ended with one of our failures is complete, an interrupted one is not."""
        failed = isinstance(error, EikonError) and error.exit_status == _FAILED
        self.close(whole=error is None or failed)

    def _end(self, *, whole: bool) -> bool:
        """End the recording; return whether it is complete."""
        if self._writer is None:
            return whole
        is_whole = self._writer.end(whole=whole)
        if self._clean is not as_it_is:
            rewrite_own(self._writer.root, self._clean)  # with secrets found in the meantime
        if self.mode == "refresh" and is_whole:
            commit_refresh(self.root)
        return is_whole


def open_debug_dir(
    path: Path,
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
        ResponsesError: the folder is unreadable, corrupt, incomplete, or in use by another run.
        OutputError: it cannot be written.
    """
    if refresh and append:
        message = "--refresh captures every response again, --append only missing ones; use one of them"
        raise UsageError(message)
    chosen = options or DebugDirOptions()
    with ExitStack() as stack:
        if refresh or append or is_ready(path) or read_folder(path).is_fresh:
            stack.enter_context(sole_writer(path))
            finish_refresh(path)
        left = left_by_refresh(path)
        is_refresh = refresh and bool(response_files(path))
        setup = _anew(path, live, chosen) if is_refresh else _by_content(read_folder(path), live, chosen, append=append)
        opened = DebugDir(setup, chosen, stack.pop_all())
    for line in told_at_open(opened, left):
        chosen.tell(line)
    return opened


def _anew(path: Path, live: Callable[[], CompletionClient], options: DebugDirOptions) -> Use:
    writer = ResponseWriter(begin_refresh(path), options.new_id())
    writer.begin()
    client = _capturing(live, writer, options)
    return Use(root=path, mode="refresh", client=client, executor=_executor((), options), writer=writer)


def _by_content(
    folder: ResponseFolder, live: Callable[[], CompletionClient], options: DebugDirOptions, *, append: bool
) -> Use:
    root, executor = folder.root, _executor(folder.responses, options)
    if not folder.is_fresh and not append:
        folder.demand_whole()
        return Use(root=root, mode="replay", client=executor, executor=executor)
    writer = ResponseWriter(root, folder.recording or options.new_id(), folder.responses)
    capturing = _capturing(live, writer, options)
    if folder.is_fresh:
        writer.begin()
        return Use(root=root, mode="capture", client=capturing, executor=executor, writer=writer)
    client = AppendingClient(executor, capturing)
    return Use(root=root, mode="append", client=client, executor=executor, writer=writer)


def _executor(responses: tuple[ModelResponse, ...], options: DebugDirOptions) -> ReplayExecutor:
    return ReplayExecutor(responses, clean=options.clean, watch=options.watch)


def _capturing(
    live: Callable[[], CompletionClient], writer: ResponseWriter, options: DebugDirOptions
) -> CompletionClient:
    """Create the client on first use, before the latency measurement starts."""

    def make() -> CompletionClient:
        return CapturingClient(
            live(), writer, clean=options.clean, watch=options.watch, keeps_outages=options.keeps_outages
        )

    return ClientOnDemand(make)
