"""Learn what an unchanged application varies, and replay missions on it."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from benchmarks.field.application import Application
from benchmarks.field.serve import ServeError, serve
from benchmarks.often import replay_often
from benchmarks.subjects import Subject
from eikon_engine.errors import EikonError
from eikon_engine.outcome.certification import CertificationReport

LEARNING_RUNS = 3


@dataclass(slots=True, kw_only=True)
class Site:
    """A running application that can be started again on fresh state, at the same address and in the same folder."""

    application: Application
    installed: Path
    home: Path
    port: int
    reset_command: str = ""
    """Shell command that restarts it."""
    _serving: ExitStack = field(default_factory=ExitStack)

    def restart(self) -> None:
        """Stop it, delete its state, and start it.

        Raises:
            ServeError: it does not start.
        """
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)
        self._serving.enter_context(serve(self.application, self.installed, self.home, self.port))

    def stop(self) -> None:
        """Stop it, if it runs."""
        self._serving.close()


@contextmanager
def open_site(application: Application, installed: Path, home: Path, port: int) -> Iterator[Site]:
    """Return an application that is not yet started; when the block ends, it is stopped."""
    site = Site(application=application, installed=installed, home=home, port=port)

    class Control(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            try:
                site.restart()
            except ServeError as error:
                self.send_error(500, str(error))
            else:
                self.send_response(204)
                self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the standard library
            pass

    control = ThreadingHTTPServer(("127.0.0.1", 0), Control)
    thread = Thread(target=control.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{control.server_address[1]}"
    site.reset_command = f"{sys.executable} -c \"import urllib.request as r; r.urlopen('{url}', b'')\""
    try:
        yield site
    finally:
        control.shutdown()
        thread.join()
        control.server_close()
        site.stop()


def learn(site: Site, bundle: Path, limit: float) -> tuple[int, list[str]]:
    """Accept what `eikon certify --network live` proposes; return how many changes these are, and what it refused."""
    options = ["--network", "live", "--runs", str(LEARNING_RUNS), "--reset-cmd", site.reset_command]
    command = [sys.executable, "-m", "eikon_engine", "certify", str(bundle), *options, "--accept", "--json"]
    log = bundle.with_name("learning.log")
    secrets = {f"EIKON_SECRET_{name}": value for name, value in site.application.secrets.items()}
    try:
        with log.open("wb") as written:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=written, timeout=limit, check=False, env=os.environ | secrets
            )
    except subprocess.TimeoutExpired:
        return 0, [f"learning did not end within {limit:.0f} s"]
    if not done.stdout:
        lines = log.read_text(errors="replace").strip().splitlines()
        return 0, [f"learning ended with {done.returncode}: {(lines or ['no output'])[-1]}"]
    report = CertificationReport.model_validate_json(done.stdout)
    if report.certificate is None:
        found = [f"{each.subgoal} {each.sequence} {each.step}: {each.message}" for each in report.findings]
        return 0, [f"learning: {report.status}: {line}" for line in found or report.notes or ("no finding",)]
    return len(report.patch.operations), []


def replay_live(site: Site, bundle: Path, limit: float) -> tuple[bool, list[str]]:
    """Replay on the application, started anew; return whether the replay is faithful, and if not, why."""

    async def run() -> tuple[bool, list[str]]:
        async with asyncio.timeout(limit):
            subject = Subject(name=bundle.parent.name, bundle=bundle, secrets=site.application.secrets)
            tally = await replay_often(subject, runs=1, parallel=1, network="live")
        is_faithful = bool(tally.verdicts["faithful"])
        return is_faithful, [] if is_faithful else [f"live: {' '.join(tally.findings().split())}"]

    try:
        site.restart()
        return asyncio.run(run())
    except TimeoutError:
        return False, [f"live: the replay did not end within {limit:.0f} s"]
    except ServeError as error:
        return False, [f"live: {error}"]
    except EikonError as error:
        return False, [f"live: {error.message}"]
