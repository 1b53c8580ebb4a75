"""Proves that `eikon fix loop --applier aider` fixes a project with the real Aider.

Run: `python -m benchmarks.real_aider [--environment DIR]`. Aider is installed into a separate environment; the loop
and Aider use a model server on this machine. Each case covers a default behaviour of Aider. Exits with 1 unless
the project is fixed, nothing else is changed, and Aider sent the expected number of requests.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.fix.loop.projects import ASSERTS, PRICE, PRICE_PROJECT, commit, everything, make_project
from tests.sites.model_server import ModelServer, answer_error, answer_text, serve_model

PACKAGE: Final = "aider-chat==0.86.2"
ENVIRONMENT: Final = Path(__file__).parents[1] / ".venv-aider"
PATIENCE_S: Final = 300
WORDS: Final = "The rebate is added in price.py, where it has to be taken off."
MENDED: Final = PRICE.replace("+ rebate", "- rebate")
LISTING: Final = f"price.py\n```\n{MENDED}```\n"
"""The answer format for a model that Aider does not know: the whole file."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One loop, and its expected result."""

    name: str
    why: str
    line_end: str = "\n"
    has_git: bool = True
    answer: str = LISTING
    status: int = 0
    asks: int = 1
    """Number of requests that Aider sends to its model."""
    told: str = ""
    """Expected error message of a failing loop."""


CASES: Final = (
    Case(name="git", why="Aider writes a name into .git/config, and lints"),
    Case(name="no-git", why="Aider makes a repository and a .gitignore", has_git=False),
    Case(name="crlf", why="Aider ends lines with LF alone", line_end="\r\n"),
    Case(
        name="other-file",
        why="Aider changes files that are no targets",
        answer=f"other.py\n```\nX = 2\n```\n{LISTING}",
        asks=2,
        status=1,
        told="'other.py': wanted one of the target files",
    ),
    Case(name="refused", why="Aider ends with 0 when its model refuses", answer="", status=1, told="wanted a change"),
)


def main() -> None:
    """Run all cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--environment", type=Path, default=ENVIRONMENT, help="where Aider is installed, or is to be")
    programs = _installed(parser.parse_args().environment)
    failed = False
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            faults = _proved(case, Path(folder), programs)
        failed |= bool(faults)
    sys.exit(failed)


def _proved(case: Case, folder: Path, programs: Path) -> list[str]:
    """Run a loop, and return its deviations from the expected result."""
    project = _project(case, folder / "shop")
    before = everything(project)
    second = answer_text(case.answer) if case.answer else answer_error(401, "Incorrect API key provided")
    begun = time.monotonic()
    with serve_model(answer_text(WORDS), *([second] * case.asks)) as model:
        done = _loop(project, folder, programs, model)
    seconds = time.monotonic() - begun
    result = json.loads(done.stdout) if done.stdout.startswith("{") else {"content": done.stderr}
    changed = {name: data for name, data in everything(project).items() if before.get(name) != data}
    gone = before.keys() - everything(project).keys()
    wanted = {} if case.status else {"price.py": MENDED.replace("\n", case.line_end).encode()}
    faults = [
        fault
        for fault, holds in (
            (f"exit status {done.returncode}: {result['content']}", done.returncode == case.status),
            (f"{case.told!r} is not told: {result['content']}", case.told in result["content"]),
            (f"changed {sorted(changed)}, removed {sorted(gone)}", changed == wanted and not gone),
            (f"models that were asked: {_models(model)}", _models(model) == ["gpt-test"] * (1 + case.asks)),
        )
        if not holds
    ]
    sys.stdout.write(f"{case.name:10} {'; '.join(faults) or 'as it should be'} ({case.why}), {seconds:.0f} s\n")
    sys.stdout.flush()
    return faults


def _project(case: Case, folder: Path) -> Path:
    """Create a project with a failing test."""
    project = make_project(folder, {**PRICE_PROJECT, "other.py": "X = 1\n"})
    (project / "price.py").write_bytes(PRICE.replace("\n", case.line_end).encode())
    commit(project, allow_empty=True)
    if not case.has_git:
        (project / ".git").rename(folder.with_name("gone"))
    return project


def _loop(project: Path, folder: Path, programs: Path, model: ModelServer) -> subprocess.CompletedProcess[str]:
    """Run the command with Aider on PATH, a new home folder, and one model server."""
    (folder / "home").mkdir()
    environ = {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), str(programs), os.environ["PATH"])),
        "HOME": str(folder / "home"),
        "PYTHONPATH": str(Path(__file__).parents[1]),
        "OPENAI_API_KEY": "sk-test",
    }
    command = (
        *(sys.executable, "-m", "eikon_engine", "fix", "loop", "--test-cmd", ASSERTS, "--target-file", "price.py"),
        *("--applier", "aider", "--model", "gpt-test", "--base-url", model.url, "--json"),
        *("--sessions-dir", str(folder / "sessions")),
    )
    return subprocess.run(
        command, cwd=project, env=environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def _models(model: ModelServer) -> list[str]:
    return [str(asked.body["model"]) for asked in model.asked]


def _installed(environment: Path) -> Path:
    """Return the programs folder of an environment that has Aider."""
    python = environment / "bin" / "python"
    if not python.exists():
        venv.create(environment, with_pip=True)
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", PACKAGE], check=True)
    return python.parent


if __name__ == "__main__":
    main()
