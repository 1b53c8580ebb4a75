"""A folder in which small scenarios are run, and a model for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from tests.scenario.tried import TOOLS, Ended, Run
from tests.sites.model_server import ModelServer, serve_model

_NAMES = iter(range(1000))


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in a new folder that contains a scenario with these steps."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    module = f"tools_of_test_{next(_NAMES)}"
    (tmp_path / f"{module}.py").write_text(TOOLS)
    monkeypatch.syspath_prepend(str(tmp_path))
    tools = [
        option
        for name in ("next_number", "echo", "fail", "leave", "pair")
        for option in ("--tools", f"{module}:{name}")
    ]

    def run(steps: str, *arguments: str, rest: str = "") -> Ended:
        lines = "\n".join(f"      {line}" for line in steps.strip("\n").splitlines())
        allowed = "allowed_tools: [next_number, echo, fail, leave, pair, browser]"
        head = f"id: tried\ngoal: Try\n{allowed}\nsubgoals:\n  - id: one\n"
        Path("tried.yaml").write_text(f"{head}    steps:\n{lines}\n{rest}")
        is_replay = "replay" in arguments
        status = run_command(eikon, ["run", "tried.yaml", *([] if is_replay else tools), *arguments], "eikon")
        said = capsys.readouterr()
        return Ended(status, said.out, said.err)

    return run


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """Serve a model, configured by environment variables."""
    with serve_model() as server:
        for name, value in (("API_KEY", "key"), ("BASE_URL", server.url), ("MODEL", "gpt-test")):
            monkeypatch.setenv(f"OPENAI_{name}", value)
        yield server
