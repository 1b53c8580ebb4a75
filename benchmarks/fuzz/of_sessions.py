"""Readers of debug sessions and of the debug loop: their files, commands, requests, test outputs and answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.fuzz.target import Target, read_each, text_of, words_of, write_input
from eikon_engine.cli.repl_prompt import parse_line
from eikon_engine.debug.action_input import parse_action
from eikon_engine.debug.branches.branch import read_branch_file
from eikon_engine.debug.breakpoints import BreakpointTargets, parse_breakpoint, parse_condition
from eikon_engine.debug.checkpoint_files import CheckpointFile, checkpoint_path, read_checkpoint
from eikon_engine.debug.protocol import parse_request
from eikon_engine.debug.session_events import parse_speed, parse_types
from eikon_engine.debug.session_folder import SessionFolder, read_session_file
from eikon_engine.fix.analysis.analyze_run import analyze_run
from eikon_engine.fix.analysis.junit_report import read_junit_report
from eikon_engine.fix.analysis.normalize import RunPaths
from eikon_engine.fix.answers import parse_answer
from eikon_engine.fix.appliers.edit_text import read_diff
from eikon_engine.fix.change_policy import compile_patterns
from eikon_engine.fix.models import AnalysisInput, CapturedStream, TestRun
from eikon_engine.fix.retrieval.chunks import split_chunks
from eikon_engine.fix.session import read_session
from eikon_engine.fix.write_back import read_journal
from eikon_engine.repair.proposers.ask_model import read_patch_answer
from eikon_engine.trace.trace_file import read_trace

if TYPE_CHECKING:
    from pathlib import Path

_TARGETS: Final = BreakpointTargets(tools=("click", "fill"), iterations=3, subgoals=("a", "b"))
_CHECKPOINT: Final = "cp_1_20261130T005549612153"
_STORAGE: Final = b"{}"


def _session_file(data: bytes, folder: Path) -> None:
    read_session_file(write_input(folder / "session.json", data))


def _timeline(data: bytes, folder: Path) -> None:
    write_input(folder / "timeline.json", data)
    SessionFolder(folder).read_timeline()


def _checkpoint(data: bytes, folder: Path) -> None:
    path = checkpoint_path(folder, _CHECKPOINT)
    write_input(path.with_name(f"{_CHECKPOINT}.storage.json"), _STORAGE)
    read_checkpoint(write_input(path, data), read_trace(folder))


def _with_digest(data: bytes) -> bytes:
    """Return a checkpoint with the digest of its content."""
    from eikon_engine.debug.checkpoint_files import _with_digest as seal

    try:
        return seal(CheckpointFile.model_validate_json(data)).model_dump_json().encode()
    except ValueError:
        return data


def _branch(data: bytes, folder: Path) -> None:
    write_input(folder / "branch.json", data)
    read_branch_file(folder)


def _request(data: bytes, _folder: Path) -> None:
    parse_request(data)


def _action_words(data: bytes, _folder: Path) -> None:
    words = words_of(data)
    parse_action(words[0] if words else "", words[1:])


def _breakpoint(data: bytes, _folder: Path) -> None:
    condition, _, more = text_of(data).partition("\n")
    command = parse_breakpoint(condition)
    parse_condition(command.model_copy(update={"condition": more or None}), _TARGETS)


def _replay_options(data: bytes, _folder: Path) -> None:
    text = text_of(data)
    read_each(lambda: parse_types([text]), lambda: parse_speed(text))


def _prompt_line(data: bytes, _folder: Path) -> None:
    parse_line(text_of(data))


def _fix_session(data: bytes, folder: Path) -> None:
    write_input(folder / "session.json", data)
    read_session(folder)


def _fix_journal(data: bytes, folder: Path) -> None:
    write_input(folder / "journal.json", data)
    read_journal(folder)


def _test_output(data: bytes, folder: Path) -> None:
    write_input(folder / "out.txt", data)
    write_input(folder / "err.txt", data[::2])
    stream, other = (CapturedStream(file=name, bytes_written=len(data)) for name in ("out.txt", "err.txt"))
    run = TestRun(command="pytest", exit_status=1, ended="exited", duration_ms=1, stdout=stream, stderr=other)
    analyze_run(AnalysisInput(run=run, session=folder, tree=folder))


def _junit_report(data: bytes, folder: Path) -> None:
    read_junit_report(write_input(folder / "junit.xml", data), RunPaths(tree=folder, cwd=folder))


def _answer(data: bytes, _folder: Path) -> None:
    parse_answer(data.decode("utf-8", "replace"), needs_edits=True)


def _diff(data: bytes, _folder: Path) -> None:
    read_diff(data.decode("utf-8", "replace"))


def _patch_answer(data: bytes, folder: Path) -> None:
    read_patch_answer(data.decode("utf-8", "replace"), read_trace(folder).subgoal_traces[0].actions_taken[0])


def _source(data: bytes, _folder: Path) -> None:
    split_chunks("a.py", data.decode("utf-8", "replace"))


def _ignore_patterns(data: bytes, _folder: Path) -> None:
    compile_patterns(tuple(text_of(data).split("\n")), "--files").match_file("a/b.py")


_FAILING: Final = "tests/data/traces/shop_failing"

TARGETS: Final = {
    "debug-session": Target(form="json", read=_session_file),
    "timeline": Target(form="json", read=_timeline),
    "checkpoint": Target(form="json", read=_checkpoint, beside=_FAILING, seal=_with_digest),
    "branch": Target(form="json", read=_branch),
    "debug-request": Target(form="json", read=_request),
    "debug-action": Target(form="text", read=_action_words),
    "breakpoint": Target(form="text", read=_breakpoint),
    "debug-replay-options": Target(form="text", read=_replay_options),
    "prompt-line": Target(form="text", read=_prompt_line),
    "fix-session": Target(form="json", read=_fix_session),
    "fix-journal": Target(form="json", read=_fix_journal),
    "test-output": Target(form="text", read=_test_output),
    "junit-report": Target(form="text", read=_junit_report),
    "model-answer": Target(form="text", read=_answer),
    "diff": Target(form="text", read=_diff),
    "patch-answer": Target(form="json", read=_patch_answer, beside=_FAILING),
    "source-file": Target(form="text", read=_source, samples=("scenarios/*.py",)),
    "ignore-patterns": Target(form="text", read=_ignore_patterns),
}
"""By name."""
