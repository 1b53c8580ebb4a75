from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import PROJECT, module_names

TIMEOUT_S = 120.0
PROBE = """
import importlib, os, sys, threading
before = (dict(os.environ), os.getcwd(), sys.path[:], threading.active_count())
for name in sys.argv[1:]:
    importlib.import_module(name)
after = (dict(os.environ), os.getcwd(), sys.path[:], threading.active_count())
assert before == after, "importing changed the process"
print(",".join(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def test_layers_and_contracts_hold() -> None:
    """Imports point down, and every contract of pyproject.toml is kept."""
    linter = Path(sys.executable).with_name("lint-imports")

    done = _run([str(linter), "--no-cache"])

    assert done.returncode == 0, done.stdout


def test_importing_everything_starts_nothing_and_prints_nothing() -> None:
    """Every module can be imported without output, without a change to the process and without Playwright."""
    done = _run([sys.executable, "-W", "error", "-c", PROBE, *module_names()])

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "playwright" not in done.stdout.strip().split(",")


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_help_is_cheap(arguments: tuple[str, ...]) -> None:
    """The list of commands is printed without importing Playwright, pydantic or any command."""
    code = "import sys; from eikon_engine.cli.main import eikon; from eikon_engine.cli.shell import run_command\n"
    code += "status = run_command(eikon, sys.argv[1:], 'eikon'); print(status, *sorted(sys.modules))"

    done = _run([sys.executable, "-c", code, *arguments])

    status, *modules = done.stdout.splitlines()[-1].split(" ")
    assert status == "0"
    assert {"playwright", "pydantic", "eikon_engine.cli.doctor", "eikon_engine.cli.replay"}.isdisjoint(modules)


def test_what_replays_define_most_of_is_defined_quickly() -> None:
    """Modules with five or more models do not defer annotations, see `FileModel`; nor are rarely used ones imported."""
    code = """
import sys
import eikon_engine.replay.engine
from eikon_engine.files.models import FileModel

def below(model):
    for each in model.__subclasses__():
        yield each.__module__
        yield from below(each)

names = [*below(FileModel)]
print(*sorted({each for each in names if names.count(each) >= 5 and hasattr(sys.modules[each], "annotations")}))
print(*sorted(sys.modules))
"""

    done = _run([sys.executable, "-c", code])

    deferred, modules = done.stdout.splitlines()
    assert deferred == ""
    rare = {
        "trace.journal",
        "trace.migrations.v3_1",
        "divergence.causes",
        "dom.css",
        "replay.pictures",
        "secrets.search",
    }
    assert {f"eikon_engine.{each}" for each in rare}.isdisjoint(modules.split(" "))


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=_environment()
    )


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(PROJECT)}
