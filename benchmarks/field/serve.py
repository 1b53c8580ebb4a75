"""Serve an application of the field on fresh state, on loopback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event

from benchmarks.field.application import Application, Place

START_S = 120.0
"""Wall time within which a server answers."""
STOP_S = 10.0
ASK_EVERY_S = 0.2
LOG = "server.log"


class ServeError(Exception):
    """An application did not start, or did not stop; the message is one line."""


@contextmanager
def serve(application: Application, installed: Path, home: Path, port: int | None = None) -> Iterator[str]:
    """Serve until the block ends; the whole process group of the server is ended with it.

    Without a `port`, a free one is taken.

    Raises:
        ServeError: it does not answer in time, or its port is still open afterwards.
    """
    home.mkdir(parents=True)
    place = Place(installed=installed, home=home, port=port or _free_port())
    try:
        command = application.start(place)
    except (subprocess.CalledProcessError, OSError) as error:
        raise ServeError(f"not prepared: {error}") from error
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    with (home / LOG).open("wb") as log:
        server = subprocess.Popen(
            command,
            cwd=home,
            env={**kept, "HOME": str(home), **(application.variables or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait_until_ready(application, place, server)
            yield place.url
        finally:
            _stop(server)
    _wait_until_closed(place.port)


def _wait_until_closed(port: int) -> None:
    """Wait for the children of the server, too, which nothing else reports."""
    deadline = time.monotonic() + STOP_S
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return
        if time.monotonic() > deadline:
            raise ServeError(f"port {port} is still open after the server was stopped")
        Event().wait(ASK_EVERY_S)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _wait_until_ready(application: Application, place: Place, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        with suppress(subprocess.TimeoutExpired):
            server.wait(timeout=ASK_EVERY_S)
            break
        with (
            suppress(OSError, HTTPException),
            closing(HTTPConnection("127.0.0.1", place.port, timeout=30)) as connection,
        ):
            connection.request("GET", application.ready)
            if connection.getresponse().status < 500:
                return
    lines = [line for line in (place.home / LOG).read_text(errors="replace").splitlines() if line.strip()]
    raise ServeError(f"not started: {(lines or ['no output'])[-1]}")


def _stop(server: subprocess.Popen[bytes]) -> None:
    """End the group: by request, then by force, which also meets children that outlive the server."""
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        server.wait(timeout=STOP_S)
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()
