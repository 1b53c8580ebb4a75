"""Debug sessions as users run them: in their own process, driven by commands."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.outcome.read_events import EventsParser
from tests.until import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.outcome.events import EventLine

TRACES = Path(__file__).parents[1] / "data" / "traces"
PASSING = TRACES / "shop_passing"
DIVERGING = TRACES / "shop_diverging"
DEADLINE_S = 25.0


class CommandOutput(NamedTuple):
    """The exit status and output of a command."""

    status: int
    out: str
    err: str


def run_eikon(*words: str) -> CommandOutput:
    """Run `eikon` in this process, through its shell entry point."""
    out, err = StringIO(), StringIO()
    before = signal.getsignal(signal.SIGTERM)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            status = run_command(eikon, words, "eikon")
    finally:
        signal.signal(signal.SIGTERM, before)
    return CommandOutput(status, out.getvalue(), err.getvalue())


def eikon_process(*words: str) -> subprocess.Popen[str]:
    """Start `eikon` in its own process."""
    command = [sys.executable, "-m", "eikon_engine", *words]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@dataclass
class Session:
    """A session in its own process."""

    parent: Path
    name: str
    process: subprocess.Popen[str]
    started: list[str] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """Return its folder."""
        return self.parent / self.name

    def __call__(self, *words: str) -> CommandOutput:
        """Send a command, as from another terminal."""
        command, options = words, ("--sessions-dir", str(self.parent), "--session", self.name)
        return run_eikon("debug", *command, *options)

    def run(self, *words: str) -> str:
        """Send a command that must succeed, and return its output."""
        output = self(*words)
        assert output.status == 0, output.err
        return output.out

    def json(self, *words: str) -> Any:  # noqa: ANN401 - JSON
        """Send a command, and return its JSON result."""
        return json.loads(self.run(*words, "--json"))

    def lines(self) -> list[EventLine]:
        """Return all recorded lines."""
        reader = EventsParser("events")
        data = (self.folder / "events.jsonl").read_bytes()
        return [line for read in reader.feed(data) for line in read.lines]

    def events(self, kind: str) -> list[Any]:
        """Return the recorded events of one type."""
        return [line.event for line in self.lines() if line.event.type == kind]

    def timeline(self) -> Any:  # noqa: ANN401 - JSON
        """Return its timeline as JSON."""
        return self.json("timeline", "--format", "json")

    def reset(self) -> None:
        """Rewind to the start, and clear all breakpoints."""
        self.run("breakpoint", "clear")
        if self.timeline()["active_branch"] != "main":
            self.run("switch", "main")
        self.run("rewind", "--iteration", "0", "--force")

    def end(self) -> int:
        """Quit, and return the exit status of the process."""
        if self.process.poll() is None:
            self("quit")
        return self.process.wait(timeout=DEADLINE_S)


@contextmanager
def session(parent: Path, *options: str, name: str = "s1", trace: Path | None = PASSING) -> Iterator[Session]:
    """Run a session, and quit it at the end."""
    source = () if trace is None else ("--trace", str(trace))
    command = ("debug", "start", *source, "--sessions-dir", str(parent), "--session", name, *options)
    process = eikon_process(*command)
    assert process.stdout is not None
    running = Session(parent, name, process)
    try:
        for line in process.stdout:
            running.started.append(line)
            if line.startswith("or from a prompt"):
                break
        assert process.poll() is None, running.started
        yield running
    finally:
        try:
            if process.poll() is None:
                run_eikon("debug", "quit", "--sessions-dir", str(parent), "--session", name)
            process.wait(timeout=DEADLINE_S)
        finally:
            if process.poll() is None:
                process.kill()
            running.started.extend(process.stdout)
            process.stdout.close()


def wait_for(events: Path, kind: str, count: int = 1) -> None:
    """Wait until `count` events of a type have been written."""
    mark = f'"type":"{kind}"'.encode()
    wait_until(lambda: events.read_bytes().count(mark) >= count, kind, DEADLINE_S)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """Run one session on the passing shop mission for all tests of a module."""
    with session(tmp_path_factory.mktemp("sessions"), "--checkpoint-interval", "5") as running:
        yield running


@pytest.fixture
def at_start(shop: Session) -> Session:
    """Return the session of the module, reset to its start."""
    shop.reset()
    return shop
