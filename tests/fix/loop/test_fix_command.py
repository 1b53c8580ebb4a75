"""`eikon fix` as a user runs it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command
from eikon_engine.fix.models import TaskResult
from tests.fix.loop.projects import GOOD_FIX, PRICE_PROJECT, PYTEST, everything, make_project, write
from tests.sites.model_server import Asked, answer_text, serve_model

ROOT = Path(__file__).resolve().parents[3]
COMMAND = (sys.executable, "-c", "from eikon_engine.cli.main import main; main()", "fix")
FAILS = "cat $(ls); grep -qr -- '- rebate' ."
LOOP = ("--test-cmd", FAILS, "--allow", "*.py")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a broken project as working directory."""
    folder = make_project(tmp_path / "shop", PRICE_PROJECT)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EIKON_FIX_DIR", str(tmp_path / "sessions"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none-of-your-business")
    return folder


def fix(*arguments: str) -> int:
    """Run the command in this process."""
    return run_command(eikon, ["fix", *arguments], "eikon")


def test_a_loop_prints_its_summary(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The summary with the diff is on standard output; progress and the session are on standard error."""
    with serve_model(answer_text(GOOD_FIX)) as model:
        status = fix("loop", "--test-cmd", FAILS, "--target-file", "price.py", "--base-url", model.url, "--model", "m")

    out, err = capsys.readouterr()
    assert status == 0
    assert out.startswith("Success: the tests pass after 2 cycles. Changed: price.py.\n")
    assert "+    return sum(prices) - rebate\n" in out
    assert "cycle 1 of 3: system:run_script\n" in err
    assert "session: " in err
    assert model.asked[0].body["model"] == "m"


def test_a_loop_prints_json(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --json, the result is on standard output; the exit status is 1 if max_cycles was reached."""
    with serve_model(answer_text(GOOD_FIX)) as model:
        status = fix(
            *("loop", "--test-cmd", "exit 4", "--allow", "*.py", "--max-cycles", "1"),
            *("--base-url", model.url, "--model", "m", "--json"),
        )  # fmt: skip

    printed = json.loads(capsys.readouterr().out)
    assert status == printed.pop("exit_status") == 1
    result = TaskResult.model_validate_json(json.dumps(printed))
    assert result.notes.outcome == "max_cycles"


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (("--test-cmd", "nope-nope"), 2, "eikon: system:run_script: nope-nope: expected a command that can be run"),
        (("--test-cmd", FAILS, "--max-cycles", "0"), 2, "eikon: --max-cycles: expected 1 or more, got 0"),
        (
            ("--test-cmd", FAILS, "--timeout", "inf"),
            2,
            "--timeout: expected seconds greater than 0, got inf",
        ),
        (
            ("--test-cmd", FAILS, "--timeout", "nan"),
            2,
            "--timeout: expected seconds greater than 0, got nan",
        ),
        ((*LOOP, "--base-url", "http://127.0.0.1:9/v1", "--model", "m"), 69, "completion-unreachable"),
        ((*LOOP, "--base-url", "http://127.0.0.1:9/v1"), 78, "no model given"),
        (("--test-cmd", FAILS), 2, "Add --allow GLOB or --target-file FILE. (code command-unusable)"),
        ((*LOOP, "--protect", "!"), 2, "eikon: --protect: expected patterns as in .gitignore, got !"),
        (("--test-cmd", FAILS, "--append"), 2, "--append requires --debug-dir DIR"),
    ],
)
def test_an_error_is_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], status: int, line: str
) -> None:
    """The exit status depends on the cause, and the last line explains what to do."""
    assert fix("loop", *arguments) == status
    assert line in capsys.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (
            ("--base-url", "notaurl"),
            2,
            "eikon: --base-url: expected a URL with http:// or https://, got 'notaurl'; correct it",
        ),
        (
            ("--base-url", "ftp://u:pw@h"),
            2,
            "eikon: --base-url: expected a URL with http:// or https://, got another URL; correct it",
        ),
        (("--applier", "aider"), 78, "eikon: --applier aider: 'aider' not found on PATH. "),
    ],
)
@pytest.mark.usefixtures("project")
def test_missing_requirements_are_reported_before_a_test_runs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    status: int,
    line: str,
) -> None:
    """Nothing is run, no model is requested, and no session is created."""
    monkeypatch.setenv("PATH", str(tmp_path))

    assert fix("loop", "--test-cmd", FAILS, *arguments) == status
    (reported,) = capsys.readouterr().err.splitlines()
    assert reported.startswith(line)
    assert not (tmp_path / "sessions").exists()


def test_a_loop_replays_recorded_responses_without_a_server(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A loop captured with a bad fix first repeats in another folder, without a model server."""
    answers = tmp_path / "answers"
    bad = GOOD_FIX.replace("prices) - rebate", "prices) * rebate")
    arguments = ("loop", "--test-cmd", PYTEST, "--debug-dir", str(answers))
    with serve_model(answer_text(bad), answer_text(GOOD_FIX)) as model:
        assert fix(*arguments, "--base-url", model.url, "--model", "m") == 0
    first = capsys.readouterr().out

    other = make_project(tmp_path / "elsewhere" / "a shop", PRICE_PROJECT)
    monkeypatch.chdir(other)
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setenv("EIKON_FIX_DIR", str(tmp_path / "other sessions"))
    status = fix(*arguments)

    out, err = capsys.readouterr()
    assert status == 0, err
    assert out == first
    assert "Replay mode: 2 of 2 responses used" in err
    for path in answers.glob("*.json"):
        assert str(tmp_path) not in path.read_text(encoding="utf-8")


def test_the_folder_of_recorded_responses_is_not_copied(project: Path) -> None:
    """Responses stored inside the project do not make the tree dirty, and are not copied."""
    with serve_model(answer_text(GOOD_FIX)) as model:
        arguments = (
            *("loop", "--test-cmd", f"test ! -e answers && {{ {FAILS}; }}", "--allow", "*.py"),
            *("--debug-dir", "answers"),
        )
        assert fix(*arguments, "--base-url", model.url, "--model", "m") == 0
    write(project, PRICE_PROJECT)

    assert fix(*arguments) == 0


@pytest.mark.parametrize("moment", ["asking", "testing"])
def test_a_killed_loop_leaves_the_tree_and_records_its_step(project: Path, tmp_path: Path, moment: str) -> None:
    """After kill -9 the project is unchanged, no test keeps running, and `eikon fix sessions` lists the step."""
    before = everything(project)
    reached, go_on = threading.Event(), threading.Event()
    mark = tmp_path / "mark"
    os.mkfifo(mark)
    hangs = f"grep -qr -- '- rebate' . || exit 1; echo $$ > '{mark}'; sleep 60"

    def answer(_asked: Asked) -> str:
        reached.set()
        go_on.wait()
        return GOOD_FIX

    with serve_model() as model:
        model.reply = answer
        loop = subprocess.Popen(
            [*COMMAND, "loop", "--test-cmd", hangs, "--allow", "*.py", "--base-url", model.url, "--model", "m"],
            cwd=project,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stderr=subprocess.DEVNULL,
        )
        assert reached.wait(60)
        child = 0
        if moment == "testing":
            go_on.set()
            child = int(mark.read_text(encoding="utf-8"))
        loop.kill()
        assert loop.wait() == -signal.SIGKILL
        go_on.set()

    reported = subprocess.run(
        [*COMMAND, "sessions", "--json"], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=True
    )
    (note,) = json.loads(reported.stdout)
    at = {"asking": (1, "debug:generate_fix"), "testing": (2, "system:run_script")}[moment]
    assert (note["state"], note["cycle"], note["step"]) == ("killed", *at)
    assert everything(project) == before
    if child:
        assert_gone(child)


def assert_gone(process: int) -> None:
    """Fail unless a process ends soon, as it must when its parent has ended."""
    for _ in range(200):
        done = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
        if done.stdout.strip()[:1] in {"", "Z"}:
            return
        threading.Event().wait(0.05)
    pytest.fail(f"{process} goes on")
