"""`eikon replay --debug-dir` as a user runs it, on a mission whose skill calls a model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pytest

from eikon_engine.cli.replay import replay_command
from eikon_engine.cli.shell import run_command
from eikon_engine.llm.response_folder import RESPONSES_FOLDER
from eikon_engine.trace.execution import SkillUsage, Succeeded
from eikon_engine.trace.trace_file import read_trace, write_trace
from tests.llm.asking import files
from tests.sites.model_server import serve_model

if TYPE_CHECKING:
    from tests.sites.model_server import ModelServer

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "data" / "traces" / "shop_passing"
PROGRAM = "python -m eikon_engine.replay"
OPTIONS = ("--network", "snapshot", "--allow-unverifiable")
Run: TypeAlias = Callable[..., tuple[int, list[str]]]
QUESTION = "What costs a carrot?"
ANSWER = "0.25 €"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Derive a bundle from a stored one, with a page visit and two model requests about it."""
    folder = Path(shutil.copytree(RECORDED, tmp_path_factory.mktemp("asking") / "bundle"))
    trace = read_trace(folder)
    first = trace.subgoal_traces[0]
    asked = tuple(
        SkillUsage(
            id=f"ask_{number}",
            sequence=number,
            skill="ask_page",
            version=1,
            parameters={"question": QUESTION, "model": "gpt-test"},
            source=first.skills_used[0].source,
            result=Succeeded(),
            output={"answer": f"{ANSWER}, said {number} times", "cut": False},
        )
        for number in (2, 3)
    )
    short = first.model_copy(update={"actions_taken": first.actions_taken[:1], "skills_used": asked})
    write_trace(trace.model_copy(update={"subgoal_traces": (short,)}), folder)
    return folder


def run(bundle: Path, artifacts: Path, *options: str, model: ModelServer | None = None) -> tuple[int, list[str]]:
    """Replay from stored snapshots; return the exit status and the lines that are not steps."""
    environ = {name: text for name, text in os.environ.items() if not name.startswith("OPENAI_")}
    if model is not None:
        environ |= {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "sk-none-of-your-business"}
    done = subprocess.run(
        [
            *(sys.executable, "-m", "eikon_engine.replay"),
            *OPTIONS,
            *("--trace", str(bundle), "--artifacts-dir", str(artifacts)),
            *options,
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=120,
        env=environ,
    )
    return done.returncode, report_lines(done.stderr)


def report_lines(stderr: str) -> list[str]:
    """Return the lines that are not steps."""
    assert "Traceback" not in stderr
    return [line for line in stderr.splitlines() if not line.startswith("[REPLAY]")]


@pytest.fixture
def run_here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Do the same as `run`, in this process."""

    def run(bundle: Path, artifacts: Path, *options: str, model: ModelServer | None = None) -> tuple[int, list[str]]:
        for name in [each for each in os.environ if each.startswith("OPENAI_")]:
            monkeypatch.delenv(name)
        if model is not None:
            monkeypatch.setenv("OPENAI_BASE_URL", model.url)
            monkeypatch.setenv("OPENAI_API_KEY", "sk-none-of-your-business")
        arguments = [*OPTIONS, "--trace", str(bundle), "--artifacts-dir", str(artifacts), *options]
        status = run_command(replay_command, arguments, PROGRAM)
        return status, report_lines(capsys.readouterr().err)

    return run


@pytest.fixture(scope="module")
def captured(bundle: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Capture the answers of a counting model in a first run."""
    folder = tmp_path_factory.mktemp("captured") / "debug"
    numbers = iter((2, 3))
    with serve_model() as model:
        model.reply = lambda _asked: f"{ANSWER}, said {next(numbers)} times"
        status, lines = run(bundle, folder.parent / "run", "--debug-dir", str(folder), model=model)
    assert (status, len(model.asked)) == (0, 2), lines
    assert lines[0] == f"Capture mode: 0 responses recorded; new responses are saved to {folder}"
    assert [line.partition(":")[0] for line in lines[1:3]] == ["debug"] * 2
    assert lines[3] == f"Capture mode: 2 responses saved to {folder}"
    assert "business" not in "".join(path.read_text() for path in folder.iterdir())
    return folder


def test_the_second_run_requests_no_model(bundle: Path, captured: Path, tmp_path: Path) -> None:
    """Without server and key, responses arrive in order, and the skills return the same output."""
    status, lines = run(bundle, tmp_path, "--debug-dir", str(captured))

    assert status == 0, lines
    assert lines[0] == f"Replay mode: 2 responses from {captured}; no model is asked"
    assert ["sample 0: replayed" in lines[1], "sample 1: replayed" in lines[2]] == [True, True]
    assert lines[3] == "Replay mode: 2 of 2 responses used"
    outcome = json.loads((tmp_path / "outcome.json").read_text())
    assert [step["output"]["answer"] for step in outcome["subgoals"][0]["steps"][1:]] == [
        f"{ANSWER}, said {number} times" for number in (2, 3)
    ]


def test_a_changed_prompt_fails_with_its_difference(
    run_here: Run, bundle: Path, captured: Path, tmp_path: Path
) -> None:
    """No stale answer is served: exit status 78, one error line, and the difference below it."""
    changed = Path(shutil.copytree(bundle, tmp_path / "bundle"))
    text = (changed / "trace.json").read_text()
    (changed / "trace.json").write_text(text.replace(QUESTION, "What costs a leek?"))

    status, lines = run_here(changed, tmp_path / "run", "--debug-dir", str(captured))

    assert status == 78
    said = next(number for number, line in enumerate(lines) if "(code no-replay-data)" in line)
    assert lines[said].startswith("python -m eikon_engine.replay: no replay data for ask_page ")
    assert lines[-2:] == [f"-Question: {QUESTION}", "+Question: What costs a leek?"]
    assert (tmp_path / "run" / "outcome.json").exists()


def test_one_corrupt_file_is_named_before_anything_is_done(
    run_here: Run, bundle: Path, captured: Path, tmp_path: Path
) -> None:
    """A corrupt file never causes a model request."""
    folder = Path(shutil.copytree(captured, tmp_path / "debug"))
    bad = files(folder)[1]
    bad.write_text(bad.read_text()[:100])

    status, lines = run_here(bundle, tmp_path / "run", "--debug-dir", str(folder))

    assert (status, len(lines)) == (65, 1)
    assert bad.name in lines[0]
    assert "(code response-corrupt)" in lines[0]
    assert not (tmp_path / "run").exists()


def test_without_a_folder_the_bundle_serves_all_responses(
    run_here: Run, bundle: Path, captured: Path, tmp_path: Path
) -> None:
    """Even with a key in the environment, a replay sends no model request of its own accord."""
    with serve_model() as model:
        status, lines = run_here(bundle, tmp_path / "none", model=model)
        assert status == 78
        assert "no response was recorded; the bundle has no such response in responses/" in lines[-1]
        assert "A replay calls no model without --debug-dir (code no-replay-data)" in lines[-1]

        own = Path(shutil.copytree(bundle, tmp_path / "bundle"))
        shutil.copytree(captured, own / RESPONSES_FOLDER)
        assert run_here(own, tmp_path / "run", model=model) == (0, [])
        assert model.asked == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--refresh",), "--refresh requires --debug-dir DIR"),
        (("--append",), "--append requires --debug-dir DIR"),
        (("--debug-dir", "d", "--refresh", "--append"), "use one of them"),
    ],
)
def test_modes_that_make_no_sense_are_refused(
    run_here: Run, bundle: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    """On a usage error no request is sent and no folder is created."""
    status, lines = run_here(bundle, tmp_path / "run", *options)

    assert (status, len(lines)) == (2, 1)
    assert said in lines[0]


def test_a_missing_key_is_reported_when_a_model_is_needed(run_here: Run, bundle: Path, tmp_path: Path) -> None:
    """The line names the variable, and no incomplete recording is left behind."""
    status, lines = run_here(bundle, tmp_path / "run", "--debug-dir", str(tmp_path / "debug"))

    assert status == 78
    assert "OPENAI_API_KEY is not set" in lines[-1]
    assert files(tmp_path / "debug") == []
