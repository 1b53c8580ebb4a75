"""Run the admin of a small Django project in a separate process.

Two visits of the same page differ in: the CSRF token (cookie ``csrftoken``, and ``csrfmiddlewaretoken`` in
every form and form body), the session cookie ``sessionid``, and the times in the list of recent actions. The pages of
the admin need no other host.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

DJANGO_USER = "admin"
DJANGO_PASSWORD = "tr1cky-Horse-9"
_ROOT = Path(__file__).resolve().parents[2]
_READY_SECONDS = 60.0


@contextmanager
def serve_django(folder: Path, *, port: int = 0) -> Iterator[str]:
    """Serve the admin with its database in ``folder``; yields the base URL without a trailing slash.

    A database that already exists in the folder is used.

    Raises:
        RuntimeError: The process ended, or printed nothing for a minute.
    """
    folder.mkdir(parents=True, exist_ok=True)
    command = (sys.executable, "-m", "tests.sites.django_project", str(port))
    environment = {**os.environ, "EIKON_SITE_FOLDER": str(folder.resolve()), "PYTHONPATH": str(_ROOT)}
    log = folder / "server.log"
    with (
        log.open("w", encoding="utf-8") as errors,
        subprocess.Popen(
            command,
            cwd=_ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            yield _wait_until_ready(process, log)
        finally:
            process.kill()


def _wait_until_ready(process: subprocess.Popen[str], log: Path) -> str:
    """Read the address that the process prints once it listens."""
    if process.stdout is None:
        raise RuntimeError("the Django process was started without a pipe for its output")
    deadline = Timer(_READY_SECONDS, process.kill)
    deadline.start()
    try:
        url = process.stdout.readline().strip()
    finally:
        deadline.cancel()
    if not url:
        raise RuntimeError(
            f"the Django site did not start within {_READY_SECONDS:g} s: {log.read_text(encoding='utf-8')}"
        )
    return url
