"""A folder with a site, tools and a scenario, and the command `eikon run` in this process or a separate one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from eikon_engine.cli.main import eikon
from tests.commands import run_here

ROOT = Path(__file__).parents[2]

PAGE = """<!doctype html><title>Stock</title>
<h1>Stock</h1>
<input id="query"><button id="find" onclick="find()">Find</button>
<table id="found"><thead><tr><th>name</th><th>price</th></tr></thead><tbody></tbody></table>
<script>
async function find() {
  const items = await (await fetch('items.json')).json();
  const wanted = document.querySelector('#query').value;
  document.querySelector('tbody').innerHTML = items.filter(item => item.name.includes(wanted))
    .map(item => `<tr><td>${item.name}</td><td>${item.price}</td></tr>`).join('');
}
</script>
"""
ITEMS = [
    {"name": "banana", "price": "0.25"},
    {"name": "green banana", "price": "0.20"},
    {"name": "cherry", "price": "3"},
]

TOOLS = '''
"""Tools of the tests."""
from __future__ import annotations

numbers = iter(range(1, 100))


def next_number() -> int:
    """Count on."""
    return next(numbers)


def fail(why: str) -> None:
    """Fail."""
    raise LookupError(why)


def wait_for_ever() -> None:
    """Say that it began, and never end."""
    import pathlib, threading

    pathlib.Path("began").touch()
    threading.Event().wait()
'''


@dataclass(frozen=True)
class Ran:
    """The result of a command."""

    status: int
    out: str
    err: str

    @property
    def folder(self) -> Path:
        """Return the folder of the run, the last line of its output."""
        return Path(self.out.splitlines()[-1])

    def events(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of one type."""
        return [each for each in self.all_events() if each["type"] == kind]

    def all_events(self) -> list[dict[str, Any]]:
        """Return all events."""
        lines = (self.folder / "events.jsonl").read_text().splitlines()
        return [json.loads(line)["event"] for line in lines]


@dataclass
class Workshop:
    """A folder in which scenarios are run."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Write the tools into the folder."""
        (self.folder / "ours.py").write_text(TOOLS)

    def write(self, text: str, name: str = "scenario.yaml") -> Path:
        """Write a scenario."""
        path = self.folder / name
        path.write_text(text)
        return path

    def command(self, *arguments: str) -> list[str]:
        """Return the command line."""
        return [sys.executable, "-m", "eikon_engine", "run", *arguments]

    @property
    def surroundings(self) -> dict[str, str]:
        """Return the environment variables of the command."""
        plain = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
        return {**plain, "PYTHONPATH": str(ROOT), **self.environ}

    def run(self, *arguments: str) -> Ran:
        """Run the command in this process, with freshly imported tools."""
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            patch.syspath_prepend(str(self.folder))
            for name in (each for each in os.environ if each.startswith("OPENAI_")):
                patch.delenv(name)
            sys.modules.pop("ours", None)
            done = run_here(eikon, ("run", *arguments), "eikon", self.environ)
        return self._ran(done)

    def run_apart(self, *arguments: str) -> Ran:
        """Run the command in a separate process."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.surroundings,
            capture_output=True,
            text=True,
            check=False,
        )
        return self._ran(done)

    def _ran(self, done: subprocess.CompletedProcess[str]) -> Ran:
        out = "\n".join((*done.stdout.splitlines()[:-1], str(self.folder / (done.stdout.splitlines() or [""])[-1])))
        return Ran(done.returncode, out, done.stderr)

    def record(self, *arguments: str, name: str = "scenario.yaml") -> Ran:
        """Record a scenario."""
        return self.run(name, *arguments)

    def replay(self, recorded: Ran, *arguments: str, name: str = "scenario.yaml") -> Ran:
        """Replay a recording."""
        return self.run(name, "--mode", "replay", "--fixtures-dir", str(recorded.folder / "fixtures"), *arguments)
