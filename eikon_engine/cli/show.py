"""`eikon show`: look at runs and bundles in a browser."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from eikon_engine.cli.command import command
from eikon_engine.cli.shared_options import bundle_argument

if TYPE_CHECKING:
    from starlette.applications import Starlette

_LIBRARIES: Final = ("starlette", "uvicorn")
_VIEWER: Final = "driver/package/lib/vite/traceViewer"
"""Folder of the trace viewer in the package of Playwright."""
_LOOPBACK_NAMES: Final = ("127.0.0.1", "localhost", "[::1]")


@command("show")
@bundle_argument("path", metavar="BUNDLE|OUTCOME|FOLDER")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on; not loopback: with a token."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port to listen on.  [default: a free one]"
)
@click.option(
    "--viewer",
    type=click.Choice(["eikon", "playwright"]),
    default="eikon",
    show_default=True,
    help="playwright: a bundle in the trace viewer that comes with Playwright.",
)
@click.option(
    "--outcome",
    type=click.Path(path_type=Path),
    metavar="OUTCOME",
    help="Replay of the bundle that the viewer attaches.",
)
def show_command(*, path: Path, host: str, port: int, viewer: str, outcome: Path | None) -> int:
    """Show runs on a local site: a list that follows the folder, reports, triage, and differences; or a bundle.

    FOLDER is searched for runs. The site is stopped with Ctrl-C.

    Exit status: 2 usage, or the address cannot be used; 65 unreadable bundle or outcome; 78 missing libraries;
    130 stopped.
    """
    from eikon_engine.errors import RequirementError, UsageError
    from eikon_engine.files.extras import install_command

    if viewer == "playwright" and not _is_loopback(host):
        message = f"expected a loopback address with --viewer playwright, got {host}: that viewer works over https only"
        raise UsageError(message)
    if outcome is not None and viewer != "playwright":
        message = "expected --viewer playwright with --outcome; or show the outcome itself"
        raise UsageError(message)
    if not all(find_spec(name) is not None for name in _LIBRARIES):
        message = f'the site needs the extra "ui"; run {install_command("ui")}'
        raise RequirementError(message)
    is_loopback = _is_loopback(host)
    token = "" if is_loopback else secrets.token_urlsafe()
    hosts = [*_LOOPBACK_NAMES, host] if is_loopback else ["*"]
    app = _make_viewer(path, outcome, hosts, token) if viewer == "playwright" else _make_app(path, hosts, token)
    try:
        listening = socket.create_server((host, port), family=_family(host))
    except OSError as error:
        message = f"cannot listen on {host}, port {port}: {error.strerror or error}; choose another address"
        raise UsageError(message) from error
    with listening:
        address = f"[{host}]" if ":" in host else host
        query = f"?token={token}" if token else ""
        click.echo(f"http://{address}:{listening.getsockname()[1]}/{query}")
        _serve(app, listening)
    return 0


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET


def _make_app(path: Path, hosts: list[str], token: str) -> Starlette:
    from eikon_engine.cli.history import read_missions
    from eikon_engine.gates.event_sources import read_outcome
    from eikon_engine.replay.artifacts import OUTCOME_FILE
    from eikon_engine.trace.bundle import open_bundle
    from eikon_engine.trace.trace_file import TRACE_FILE
    from eikon_engine.ui import RunList, create_app

    if path.name == OUTCOME_FILE and path.is_file():
        read_outcome(path)
        return create_app(RunList(path.parent), hosts=hosts, token=token, read_history=read_missions)
    if path.is_dir() and not (path / TRACE_FILE).is_file():
        return create_app(RunList(path), hosts=hosts, token=token, read_history=read_missions)
    return create_app(open_bundle(path), hosts=hosts, token=token)


def _make_viewer(path: Path, outcome: Path | None, hosts: list[str], token: str) -> Starlette:
    from eikon_engine.cli.export import render_viewer_trace
    from eikon_engine.errors import RequirementError
    from eikon_engine.ui import create_viewer

    found = find_spec("playwright")
    folder = Path(found.origin or "").parent / _VIEWER if found is not None else None
    if folder is None or not (folder / "index.html").is_file():
        message = "Playwright has no trace viewer here; install it anew with pip install --force-reinstall playwright"
        raise RequirementError(message)
    return create_viewer(folder, render_viewer_trace(path, outcome), hosts=hosts, token=token)


def _serve(app: Starlette, listening: socket.socket) -> None:
    import uvicorn

    config = uvicorn.Config(app, log_level="warning", lifespan="off", timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listening])
