"""Start of a worker process: watch the suite first, since the modules of a replay take a while to import."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Final

from eikon_engine.process_group import kill_descendants

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

ORPHANED_S: Final = 2.0
"""Wall time that a worker has to end once its suite was killed."""


def run_worker(connection: Connection) -> None:
    """Make the replays that come over a connection, until it is closed or the suite has ended."""
    threading.Thread(target=_end_with_suite, daemon=True).start()
    from eikon_engine.suite.worker import work  # noqa: PLC0415 - see above

    work(connection)


def _end_with_suite() -> None:
    """Wait until the suite was killed, and give replays a moment to complete their artifacts."""
    suite = multiprocessing.parent_process()
    if suite is not None:
        wait([suite.sentinel])
        threading.Event().wait(ORPHANED_S)
        kill_descendants()
        os.kill(os.getpid(), signal.SIGKILL)
