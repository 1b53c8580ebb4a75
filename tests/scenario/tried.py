"""The command `eikon run` on small scenarios, in this process and without a browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TOOLS = '''
"""Tools of one test."""
count = 0


def next_number() -> int:
    """Count on."""
    global count
    count += 1
    return count


def echo(value: object = None, other: object = None) -> object:
    """Return what is given."""
    return value


def fail(why: str) -> None:
    """Fail."""
    raise LookupError(why)


def leave() -> None:
    """End the process."""
    raise SystemExit(0)


def pair() -> tuple[int, int]:
    """Return what no fixture holds."""
    return (1, 2)
'''


@dataclass(frozen=True)
class Ended:
    """The result of a command."""

    status: int
    out: str
    err: str

    @property
    def folder(self) -> Path:
        """Return the folder of the run."""
        return Path(self.out.splitlines()[-1])

    def note(self) -> dict[str, Any]:
        """Return the content of run.json."""
        return dict(json.loads((self.folder / "run.json").read_text()))

    def events(self) -> list[dict[str, Any]]:
        """Return all events."""
        return [json.loads(line)["event"] for line in (self.folder / "events.jsonl").read_text().splitlines()]


Run = Callable[..., Ended]


def replay(run: Run, steps: str, rest: str = "") -> Ended:
    """Replay the newest complete recording."""
    return run(steps, "--mode", "replay", "--latest", rest=rest)


THREE = "- {tool: next_number, as: a}\n- {tool: next_number, as: b}\n- {tool: next_number, as: c}\n"


ASKS = "- {completion: {prompt: one two three}, as: a}\n- {completion: {prompt: four}, as: b}"
