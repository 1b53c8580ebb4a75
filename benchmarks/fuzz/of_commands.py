"""Commands that read untrusted files and need no browser, run whole."""

from __future__ import annotations

import shutil
from functools import partial
from typing import TYPE_CHECKING, Final

from benchmarks.fuzz.of_bundles import FAILING
from benchmarks.fuzz.target import Target, run_command, write_input

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.fuzz.mutation import Form

_CORPUS: Final = "tests/data/fuzz"
_TRACES: Final = (f"{FAILING}/trace.json", "tests/data/traces/v3_1_samples/*.json")


def _run(data: bytes, folder: Path, *, file: str, command: str) -> None:
    write_input(folder / file, data)
    try:
        run_command(folder, *command.split())
    finally:
        shutil.rmtree(folder / "out", ignore_errors=True)


def _command(command: str, file: str, form: Form, *samples: str) -> Target:
    return Target(form=form, read=partial(_run, file=file, command=command), beside=FAILING, samples=samples)


def _of_trace(command: str) -> Target:
    return _command(command, "trace.json", "json", *_TRACES)


def _of_network(command: str) -> Target:
    return _command(command, "network/index.jsonl", "lines", f"{FAILING}/network/index.jsonl")


def _of_outcome(command: str) -> Target:
    return _command(command, "outcome.json", "json", f"{_CORPUS}/outcome/*")


TARGETS: Final = {
    "eikon trace show": _of_trace("trace show . --json"),
    "eikon export playwright": _of_trace("export playwright . -o out/test_a.py"),
    "eikon export trace": _of_trace("export trace . -o out/trace.zip"),
    "eikon debug replay": _of_trace("debug replay ."),
    "eikon diff": _of_trace("diff . ."),
    "eikon scan": _of_trace("scan ."),
    "eikon export har": _of_network("export har . -o out/a.har"),
    "eikon export bundle": _of_network("export bundle . -o out/a.zip"),
    "eikon learn": _of_network("learn . ."),
    "eikon report": _of_outcome("report outcome.json --format html"),
    "eikon triage": _of_outcome("triage outcome.json --no-history"),
    "eikon accept": _of_outcome("accept . outcome.json"),
    "eikon events": _command("events events.jsonl", "events.jsonl", "lines", "tests/data/events/*.jsonl"),
    "eikon config": _command("config . --config eikon.toml", "eikon.toml", "text", f"{_CORPUS}/configuration/*"),
    "eikon gate": _command("gate gates.yaml trace.json", "gates.yaml", "text", f"{_CORPUS}/gates/*"),
    "eikon skills run": _command(
        "skills run detect_page_intent page.html", "page.html", "text", "tests/data/pages/*.html"
    ),
}
"""By name: the command that reads an input."""
