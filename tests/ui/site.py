"""The site of `eikon show`, as its command serves it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parents[2]


@contextmanager
def shown(*arguments: str | Path) -> Iterator[str]:
    """Start the site; yield the address that it prints. It is stopped as by Ctrl-C, with its exit status."""
    command = [sys.executable, "-m", "eikon_engine", "show", *map(str, arguments)]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as site:
        try:
            assert site.stdout is not None
            yield site.stdout.readline().strip()
            site.send_signal(signal.SIGINT)
            assert site.wait(20) == 130
        finally:
            site.kill()
