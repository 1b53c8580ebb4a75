"""Real test runs in real folders."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.analysis.analyze_run import analyze_run
from eikon_engine.fix.models import AnalysisInput, CapturedStream, RunScriptInput, TestRun
from eikon_engine.fix.run_script import run_script

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.models import Analysis

PYTEST: Final = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {shlex.quote(sys.executable)} -m pytest -p no:cacheprovider"
CALCULATOR: Final = {
    "calc.py": "import json\n\n\ndef add(a, b):\n    return a - b\n\n\ndef load(text):\n    return json.loads(text)\n",
    "tests/test_calc.py": """\
import pytest
from calc import add, load


def test_add(tmp_path):
    print("hello from", tmp_path)
    assert add(1, 2) == 3, object()


class TestLoad:
    @pytest.mark.parametrize("text", ["{", "a b"])
    def test_load(self, text):
        load(text)


@pytest.fixture
def broken():
    raise ValueError("nope")


def test_setup(broken):
    pass
""",
    "tests/test_import.py": "import not_there\n",
    "pytest.ini": "[pytest]\npythonpath = .\n",
}


def write(tree: Path, files: dict[str, str]) -> Path:
    """Write files below a folder."""
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tree


def ran(tree: Path, session: Path, command: str) -> AnalysisInput:
    """Run a command as the debug loop does."""
    (session / "run").mkdir(parents=True, exist_ok=True)
    order = RunScriptInput(
        command=command, tree=tree, original=tree, cwd=".", session=session, folder="run", timeout_seconds=60
    )
    return AnalysisInput(run=run_script(order), session=session, tree=tree)


def printed(tree: Path, session: Path, *, stdout: str = "", stderr: str = "", status: int = 1) -> Analysis:
    """Analyze the given output of a run."""
    write(session, {"stdout.txt": stdout, "stderr.txt": stderr})
    run = TestRun(
        command="make test",
        exit_status=status,
        ended="exited",
        duration_ms=1,
        stdout=CapturedStream(file="stdout.txt", bytes_written=len(stdout)),
        stderr=CapturedStream(file="stderr.txt", bytes_written=len(stderr)),
    )
    return analyze_run(AnalysisInput(run=run, session=session, tree=tree))
