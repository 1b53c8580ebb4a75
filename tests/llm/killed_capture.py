"""A capture in a separate process that is killed after three responses."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

KILLED = """
import os, signal, sys
from pathlib import Path
from eikon_engine.llm import EchoClient, open_debug_dir
from tests.llm.asking import request
used = open_debug_dir(Path(sys.argv[1]), EchoClient, refresh="refresh" in sys.argv)
for number in range(3):
    used.client.complete(request(f"prompt {number}"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def kill_capture(folder: Path, *arguments: str) -> None:
    """Capture into `folder` until the process is killed; `refresh` replaces existing responses."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), *arguments], cwd=Path(__file__).parents[2], check=False
    )
    assert done.returncode == -signal.SIGKILL
