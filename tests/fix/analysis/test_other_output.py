from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from eikon_engine.errors import BundlePathError
from eikon_engine.fix.analysis.analyze_run import analyze_run
from eikon_engine.fix.models import AnalysisInput, CapturedStream, TestRun
from tests.fix.analysis.diverged import diverged_outcome
from tests.fix.analysis.running import printed, ran, write

NODE = """\
/work/sum.js:2
  throw new TypeError("not a number")
  ^

TypeError: not a number
    at sum (/work/sum.js:2:9)
    at Object.<anonymous> (/work/sum.js:5:1)
    at Module._compile (node:internal/modules/cjs/loader:1521:14)

Node.js v20.20.2
"""
TAP = """\
TAP version 13
# Subtest: sums
    # Subtest: adds
    not ok 1 - adds
      ---
      duration_ms: 2.05193
      failureType: 'testCodeFailure'
      error: |-
        Expected values to be strictly equal:

        -1 !== 3

      code: 'ERR_ASSERTION'
      stack: |-
        TestContext.<anonymous> (/work/sum.js:2:25)
        Test.runInAsyncScope (node:async_hooks:206:9)
      ...
not ok 1 - sums
  ---
  failureType: 'subtestsFailed'
  error: '1 subtest failed'
  ...
"""


def test_a_run_that_passed_is_one_by_its_exit_status(tmp_path: Path) -> None:
    """Only exit status 0 is a pass, whatever was printed."""
    passed = printed(tmp_path, tmp_path, stdout="FAILED test_a.py::test_a - assert 0\n", status=0)
    failed = printed(tmp_path, tmp_path, stdout="all is well\n", status=1)

    assert (passed.passed, passed.first) == (True, None)
    assert failed.first is not None
    assert (failed.passed, failed.first.id, failed.first.message) == (False, "exit status 1", "all is well")


def test_tracebacks_of_python_are_read(tmp_path: Path) -> None:
    """A chain of exceptions is one failure, named after the last one; unittest tests are named by their ids."""
    program = """\
import unittest


class Sums(unittest.TestCase):
    def test_key(self):
        try:
            int("x")
        except ValueError as error:
            raise KeyError("k") from error

    def test_sum(self):
        self.assertEqual(1 - 2, 3)


unittest.main()
"""
    tree = write(tmp_path / "tree", {"sums.py": program, "bad.py": "def f(:\n"})

    tests = analyze_run(ran(tree, tmp_path, f"{shlex.quote(sys.executable)} sums.py"))
    syntax = analyze_run(ran(tree, tmp_path, f"{shlex.quote(sys.executable)} bad.py"))

    assert [(each.id, each.message, each.file, each.line) for each in tests.failures] == [
        ("test_key (__main__.Sums.test_key)", "KeyError: 'k'", "sums.py", 9),
        ("test_sum (__main__.Sums.test_sum)", "AssertionError: -1 != 3", "sums.py", 12),
    ]
    assert [(each.id, each.kind, each.line) for each in syntax.failures] == [("SyntaxError in bad.py", "python", 1)]


def test_stacks_of_node_are_read(tmp_path: Path) -> None:
    """The error above a stack is the message, its first frame in the project the location."""
    tree = write(tmp_path / "tree", {"sum.js": ""})

    analysis = printed(tree, tmp_path, stderr=NODE.replace("/work", str(tree)))

    assert analysis.first is not None
    assert (analysis.first.id, analysis.first.kind) == ("TypeError in sum.js sum", "node")
    assert (analysis.first.message, analysis.first.file, analysis.first.line) == (
        "TypeError: not a number",
        "sum.js",
        2,
    )
    assert [(each.line, each.name) for each in analysis.first.frames] == [(5, "Object.<anonymous>"), (2, "sum")]


def test_the_test_runner_of_node_is_read(tmp_path: Path) -> None:
    """A failed test is named; the enclosing suite is not an additional failure."""
    tree = write(tmp_path / "tree", {"sum.js": ""})

    analysis = printed(tree, tmp_path, stdout=TAP.replace("/work", str(tree)))

    assert [(each.id, each.message, each.line) for each in analysis.failures] == [
        ("adds", "Expected values to be strictly equal: -1 !== 3", 2)
    ]


def test_the_outcome_of_a_replay_is_read(tmp_path: Path) -> None:
    """A diverged replay is reported with its explanation, expected and observed values, and candidates."""
    tree = write(tmp_path / "tree", {"artifacts/outcome.json": diverged_outcome().model_dump_json()})

    analysis = printed(tree, tmp_path, stderr="[REPLAY] summary: artifacts/replay_summary.txt\n")

    assert analysis.first is not None
    assert (analysis.first.id, analysis.first.kind) == ("buy-banana s1:2", "eikon")
    assert analysis.first.message == "The button is called Purchase now."
    assert analysis.first.file == "artifacts/outcome.json"
    assert "first divergence: target-missing in target at s1 step 2" in analysis.first.excerpt
    assert "did you mean: button 'Purchase' at html>body>button" in analysis.first.excerpt
    assert "cause: site-changed, a button with another name" in analysis.first.excerpt


def test_outcomes_of_replays_are_read_besides_pytest_failures(tmp_path: Path) -> None:
    """A failed test that replays a mission and the diverged replay itself are both listed as failures."""
    tree = write(tmp_path / "tree", {"artifacts/outcome.json": diverged_outcome().model_dump_json(), "t.py": ""})
    summary = "=== short test summary info ===\nFAILED t.py::test_shop - see artifacts/replay_summary.txt\n"

    analysis = printed(tree, tmp_path, stdout=summary)

    assert [(each.kind, each.id) for each in analysis.failures] == [
        ("pytest", "t.py::test_shop"),
        ("eikon", "buy-banana s1:2"),
    ]


def test_an_outcome_outside_of_the_tree_is_not_read(tmp_path: Path) -> None:
    """A path outside of the tree is ignored."""
    tree = write(tmp_path / "tree", {"x": ""})
    write(tmp_path, {"outcome.json": diverged_outcome().model_dump_json()})

    analysis = printed(tree, tmp_path / "session", stdout="summary: ../replay_summary.txt\n")

    assert analysis.first is not None
    assert analysis.first.kind == "output"


def test_tests_that_ran_side_by_side_are_put_in_order(tmp_path: Path) -> None:
    """The order of pytest-xdist workers is random, but the first failure must not be."""
    entries = "".join(f"____ test_{name} ____\n[gw{name}] linux -- Python\nE   assert {name}\n" for name in (2, 0, 1))
    summary = "=== short test summary info ===\n" + "".join(f"FAILED t.py::test_{name}\n" for name in (2, 0, 1))

    analysis = printed(tmp_path, tmp_path, stdout=f"=== FAILURES ===\n{entries}{summary}")

    assert [(each.id, each.message) for each in analysis.failures] == [
        (f"t.py::test_{name}", f"assert {name}") for name in range(3)
    ]


@pytest.mark.parametrize(
    ("ended", "signal", "reported"),
    [("timed_out", None, "timed out"), ("killed", 9, "killed by signal 9")],
)
def test_a_killed_or_timed_out_run_is_reported_as_such(
    tmp_path: Path, ended: str, signal: int | None, reported: str
) -> None:
    """The termination is the failure, shown with the end of the output."""
    write(tmp_path, {"o": "line\n" * 100 + "last\n", "e": ""})
    run = TestRun.model_validate(
        {
            "command": "make",
            "exit_status": None,
            "ended": ended,
            "signal": signal,
            "duration_ms": 1,
            "stdout": CapturedStream(file="o", bytes_written=505),
            "stderr": CapturedStream(file="e", bytes_written=0),
        }
    )

    first = analyze_run(AnalysisInput(run=run, session=tmp_path, tree=tmp_path)).first

    assert first is not None
    assert (first.id, first.message) == (reported, reported)
    assert first.excerpt.startswith("stdout:\n[… 61 lines omitted]\n")
    assert first.excerpt.endswith("line\nlast")


def test_output_outside_of_the_session_is_refused(tmp_path: Path) -> None:
    """A run may only name files inside the session folder."""
    stream = CapturedStream(file="../secret", bytes_written=1)
    run = TestRun(command="x", exit_status=1, ended="exited", duration_ms=1, stdout=stream, stderr=stream)

    with pytest.raises(BundlePathError):
        analyze_run(AnalysisInput(run=run, session=tmp_path, tree=tmp_path))
