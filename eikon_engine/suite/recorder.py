"""Process of `record_scripts`: run the command line, and stop it when the process that started it ends.

`python -m eikon_engine.suite.recorder FD ARGUMENTS`: FD is an end of a pipe whose other end only that process has.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
from contextlib import suppress


def _stop_with_suite(alive_fd: int) -> None:
    with suppress(OSError):
        os.read(alive_fd, 1)
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_stop_with_suite, args=(int(sys.argv.pop(1)),), daemon=True).start()
    runpy.run_module("eikon_engine", run_name="__main__", alter_sys=True)
