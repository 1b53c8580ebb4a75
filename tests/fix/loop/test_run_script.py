"""Commands that run, hang, write endlessly, or leave processes behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.fix.models import RunScriptInput, TestRun
from eikon_engine.fix.run_script import BoundedOutput, run_script
from eikon_engine.secrets.environment import EnvironmentSecrets, RedactingStream
from tests.fix.loop.looping import loop_runner
from tests.fix.loop.projects import PYTEST, make_project, write


def run(folder: Path, command: str, *, timeout: float = 20.0) -> TestRun:
    """Run a command in an empty copy."""
    for name in ("tree", "original", "session"):
        (folder / name).mkdir(exist_ok=True)
    return run_script(
        RunScriptInput(
            command=command,
            tree=folder / "tree",
            original=folder / "original",
            cwd=".",
            session=folder / "session",
            folder="cycles/01",
            timeout_seconds=timeout,
        )
    )


def written(folder: Path, name: str) -> str:
    """Read an output."""
    return (folder / "session" / "cycles" / "01" / name).read_text(encoding="utf-8")


def test_both_outputs_and_the_status_are_kept(tmp_path: Path) -> None:
    """A command runs in a shell with empty standard input; both outputs and the exit status are stored."""
    ended = run(tmp_path, "cat; echo out; echo err >&2; exit 3")

    assert (ended.ended, ended.exit_status, ended.passed) == ("exited", 3, False)
    assert (written(tmp_path, "stdout.txt"), written(tmp_path, "stderr.txt")) == ("out\n", "err\n")
    assert (ended.stdout.file, ended.stdout.bytes_written) == ("cycles/01/stdout.txt", 4)


def test_a_command_that_hangs_is_ended_with_its_process_group(tmp_path: Path) -> None:
    """At the deadline all processes of the command are killed, including those that ignore SIGTERM."""
    ended = run(tmp_path, "trap '' TERM; sleep 60 & echo $! > child; echo begun; wait; sleep 60", timeout=4)

    assert (ended.ended, ended.exit_status) == ("timed_out", None)
    assert written(tmp_path, "stdout.txt") == "begun\n"
    assert_gone(int((tmp_path / "tree" / "child").read_text(encoding="utf-8")))


def test_background_processes_of_a_command_are_ended(tmp_path: Path) -> None:
    """A background process does not outlive its command, and its output is not waited for."""
    ended = run(tmp_path, "sleep 60 & echo $! > child; exit 0")

    assert ended.passed
    assert ended.duration_ms < 5000
    assert_gone(int((tmp_path / "tree" / "child").read_text(encoding="utf-8")))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux gives us the orphans of others")
@pytest.mark.parametrize("ending", ["exit 0", "sleep 60"])
def test_processes_that_leave_the_group_are_ended(tmp_path: Path, ending: str) -> None:
    """A daemon in its own session, and its child processes, are killed when the command ends."""
    daemon = "setsid sh -c 'setsid sleep 60 & echo $! $$ > child; sleep 60' & while [ ! -s child ]; do sleep 0.05; done"

    ended = run(tmp_path, f"{daemon}; {ending}", timeout=3.0)

    assert ended.ended == ("exited" if ending == "exit 0" else "timed_out")
    for process in (tmp_path / "tree" / "child").read_text(encoding="utf-8").split():
        assert_gone(int(process))


def test_a_command_that_is_killed_has_no_status(tmp_path: Path) -> None:
    """The result has the signal."""
    ended = run(tmp_path, "kill -SEGV $$")

    assert (ended.ended, ended.exit_status, ended.signal) == ("killed", None, signal.SIGSEGV)


def test_endless_output_is_limited(tmp_path: Path) -> None:
    """The file is bounded: it has the beginning, the end, and the number of omitted bytes."""
    ended = run(tmp_path, f"{sys.executable} -c \"import sys; sys.stdout.write('x' * 30_000_000 + 'end')\"")

    size = (tmp_path / "session" / ended.stdout.file).stat().st_size
    assert ended.stdout.bytes_written == 30_000_003
    assert size < 11 * 2**20
    assert ended.stdout.bytes_left_out > 19_000_000
    assert written(tmp_path, "stdout.txt").endswith("end")
    assert f"[{ended.stdout.bytes_left_out} bytes omitted]" in written(tmp_path, "stdout.txt")


@settings(max_examples=60, deadline=None)
@given(chunks=st.lists(st.binary(max_size=12), max_size=12), head=st.integers(0, 20), tail=st.integers(0, 20))
def test_omitted_output_is_counted(
    tmp_path_factory: pytest.TempPathFactory, chunks: list[bytes], head: int, tail: int
) -> None:
    """The beginning and the end of the output are kept; kept and omitted bytes add up to all written ones."""
    path = tmp_path_factory.getbasetemp() / "bounded"
    whole = b"".join(chunks)

    with BoundedOutput(path, head_bytes=head, tail_bytes=tail) as output:
        for chunk in chunks:
            output.write(chunk)

    kept = path.read_bytes()
    note = f"\n[{output.bytes_omitted} bytes omitted]\n".encode()
    if not output.bytes_omitted:
        assert kept == whole
        return
    first, last = kept[:head], kept[head + len(note) :]
    assert kept[head : head + len(note)] == note
    assert whole.startswith(first)
    assert whole.endswith(last)
    assert len(last) == tail
    assert len(first) + len(last) + output.bytes_omitted == len(whole) == output.bytes_written


def test_paths_into_the_tree_point_to_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An absolute PYTHONPATH into the user's tree is replaced by the copy's folder; other entries are kept."""
    write(tmp_path, {"original/src/which.py": "place = 'original'\n", "tree/src/which.py": "place = 'copy'\n"})
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path / "original" / "src"), "/nowhere")))

    run(tmp_path, f"{sys.executable} -c 'import which, sys; print(which.place, \"/nowhere\" in sys.path)'")

    assert written(tmp_path, "stdout.txt") == "copy True\n"


def test_git_variables_are_not_passed_to_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a git hook starts the loop, git commands of tests still apply to the copy."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, str(tmp_path / "original"))

    run(tmp_path, "env | grep ^GIT_; git init --quiet .")

    assert written(tmp_path, "stdout.txt") == f"GIT_CEILING_DIRECTORIES={tmp_path}\n"
    assert (tmp_path / "tree" / ".git").is_dir()
    assert list((tmp_path / "original").iterdir()) == []


SECRETS = EnvironmentSecrets({"DB_PASSWORD": "hunter", "API_KEY": "hunter2-and-more", "HOME": "/home/somebody"})


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(["hunter", "hunter2-and-more", "hunt", "2-and-", "x", "/home/somebody"]), max_size=8),
    st.lists(st.integers(0, 60), max_size=6),
)
def test_secrets_in_any_spelling_are_redacted(words: list[str], cuts: list[int]) -> None:
    """A stream in several chunks is redacted like a complete text, and contains no value."""
    whole = "".join(words).encode()
    places = sorted({0, len(whole), *(each for each in cuts if each < len(whole))})
    reported: list[bytes] = []

    stream = RedactingStream(reported.append, SECRETS)
    for begin, end in pairwise(places):
        stream.write(whole[begin:end])
    stream.flush()

    assert b"".join(reported) == SECRETS.redact_bytes(whole)
    assert b"hunter" not in b"".join(reported)


def test_secrets_of_the_environment_reach_neither_model_nor_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If tests print their environment, outputs, report and other files contain names instead of values."""
    values = {"OPENAI_API_KEY": "sk-test-0123456789abcdef", "DB_PASSWORD": 'pass"word&<1>'}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    test = "import os\n\n\ndef test_it():\n    assert dict(os.environ) == {}, os.environ['DB_PASSWORD']\n"
    project = make_project(tmp_path / "shop", {"test_env.py": test, "key.py": f"KEY = '{values['OPENAI_API_KEY']}'\n"})

    with loop_runner(tmp_path, "NO FIX FOUND: none") as runner:
        runner.loop(project, test_cmd=f"env; {PYTEST}; false")
    with loop_runner(tmp_path, "NO FIX FOUND: none") as other:
        other.loop(project)

    asked = "\n".join(str(each.body) for each in (*runner.model.asked, *other.model.asked))
    kept = "\n".join(path.read_text(encoding="utf-8") for path in runner.sessions.rglob("*") if path.is_file())
    assert "<DB_PASSWORD>" in asked
    assert "OPENAI_API_KEY=<OPENAI_API_KEY>" in kept
    for reported in (asked, kept):
        assert "0123456789abcdef" not in reported
        assert "word&" not in reported


def assert_gone(process: int) -> None:
    """Fail unless a process has ended; a zombie has."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    assert done.stdout.strip()[:1] in {"", "Z"}
