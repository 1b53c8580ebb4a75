"""The files of a running session: created when it can start, removed if it could not, completed when it ends."""

from __future__ import annotations

import os
import shutil
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final

from eikon_engine.debug.commands import BreakpointAdd
from eikon_engine.debug.session_file import SessionFile, write_session_file
from eikon_engine.debug.session_folder import create_session_folder, new_session_id
from eikon_engine.debug.session_lock import hold_lock
from eikon_engine.trace.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    import anyio

    from eikon_engine.debug.session_folder import SessionFolder
    from eikon_engine.debug.session_options import SessionOptions
    from eikon_engine.trace.bundle import Bundle

_ID_SUFFIX_LENGTH: Final = 4


@asynccontextmanager
async def session_files(options: SessionOptions, bundle: Bundle, started: anyio.Event) -> AsyncIterator[SessionFolder]:
    """Create and lock the folder of a session while it runs; discarded steps are deleted after a clean end."""
    begun_at, replay = options.now(), options.contexts.replay
    name = options.name or new_session_id(begun_at, options.new_id()[:_ID_SUFFIX_LENGTH])
    folder = create_session_folder(options.parent, name)
    with _remove_unless_started(started, folder), hold_lock(folder.lock_path):
        session = SessionFile(
            id=name,
            mission_id=bundle.trace.mission_id,
            mission_text=bundle.trace.mission_text,
            trace=str(bundle.root.absolute()),
            trace_id=bundle.trace.id,
            started_at=begun_at,
            pid=os.getpid(),
            headless=replay.headless,
            variables=dict(replay.variables),
            timeout_ms=replay.timeout_ms,
            browser_path=None if replay.browser_path is None else str(replay.browser_path.absolute()),
            breakpoints=_redacted(options.breakpoints, Redactor(replay.secrets)),
            checkpoint_interval=options.checkpoints.interval,
            keep_checkpoints=options.checkpoints.retention.automatic,
            parked=options.contexts.parked,
            from_session=str(options.from_session.root) if options.from_session else None,
        )
        write_session_file(folder.session_path, session)
        try:
            yield folder
        except Exception:
            raise  # not ended by the user: it is listed as crashed
        except BaseException:
            _write_end(folder, session, options)
            raise
        _write_end(folder, session, options)
        shutil.rmtree(folder.discarded, ignore_errors=True)


def _redacted(breakpoints: tuple[BreakpointAdd, ...], redactor: Redactor) -> tuple[BreakpointAdd, ...]:
    """Return breakpoints with secrets redacted."""
    plain = [redactor.redact_json(each.model_dump(mode="json")) for each in breakpoints]
    return tuple(BreakpointAdd.model_validate(each) for each in plain)


def _write_end(folder: SessionFolder, session: SessionFile, options: SessionOptions) -> None:
    """Record that a command or a signal ended the session."""
    write_session_file(folder.session_path, session.model_copy(update={"ended_at": options.now()}))


@contextmanager
def _remove_unless_started(started: anyio.Event, folder: SessionFolder) -> Iterator[None]:
    """Remove the files of a session that could not start, so that its name is free again."""
    try:
        yield
    except BaseException:
        if not started.is_set():
            shutil.rmtree(folder.root, ignore_errors=True)
        raise
