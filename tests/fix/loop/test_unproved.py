"""Fixes that make a test command exit with 0 although no test is fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from eikon_engine.fix.analysis.analyze_run import closing_runners
from tests.fix.loop.looping import loop_runner
from tests.fix.loop.projects import make_project

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.fix.models import TaskResult

_BUG: Final = "    return a - b"
_CALC: Final = f"def add(a, b):\n{_BUG}\n"
_TEST: Final = "from calc import add\n\n\ndef test_one():\n    assert add(1, 2) == 3\n"
_TWO: Final = f"{_TEST}\n\ndef test_two():\n    assert add(2, 2) == 4\n"
_UNITTEST: Final = """import unittest
from calc import add


class TestAdd(unittest.TestCase):
    def test_add(self):
        self.assertEqual(add(1, 2), 3)
"""


def answer(new: str) -> str:
    """Write a fix of the one wrong line."""
    return f"calc.py\n<<<<<<< SEARCH\n{_BUG}\n=======\n{new}\n>>>>>>> REPLACE\n"


def result_of(result: TaskResult) -> tuple[str, bool]:
    """Return the evaluation of the first fix, and whether it was rolled back."""
    verification = result.notes.history[0].verification
    assert verification is not None
    return verification.judgement, verification.rolled_back


@pytest.mark.parametrize(
    ("new", "reported"),
    [
        ("    import os; os._exit(0)", "pytest wrote no report: the run was cut short"),
        ("    import pytest; pytest.exit('x', returncode=0)", "did not run and pass: test_calc.py::test_one"),
    ],
)
def test_a_failed_test_that_does_not_run_and_pass_is_not_fixed(tmp_path: Path, new: str, reported: str) -> None:
    """Exit status 0 is no success if the report does not list the test as passed; the file is unchanged."""
    project = make_project(tmp_path / "shop", {"calc.py": _CALC, "test_calc.py": _TEST})

    with loop_runner(tmp_path, answer(new)) as loops:
        result = loops.loop(project, max_cycles=1, keep=True)

    assert (result.status, result.notes.outcome, result.notes.final_test_status) == ("FAILED", "max_cycles", "failed")
    assert result_of(result) == ("unproved", True)
    assert result.notes.closing_analysis is not None
    assert result.notes.closing_analysis.summary.endswith(reported)
    assert (project / "calc.py").read_text(encoding="utf-8") == _CALC


def test_a_fix_that_skips_the_test_is_reported_in_the_next_prompt(tmp_path: Path) -> None:
    """The loop continues, and the next prompt explains what was wrong."""
    project = make_project(tmp_path / "shop", {"calc.py": _CALC, "test_calc.py": _TEST})

    with loop_runner(tmp_path, answer("    import pytest; pytest.skip('x')"), answer("    return a + b")) as loops:
        result = loops.loop(project, max_cycles=2)

    assert (result.notes.outcome, result_of(result)) == ("success", ("unproved", True))
    assert "test_calc.py::test_one (skipped)" in str(loops.model.asked[1].body["messages"])


def test_skipping_one_of_two_failing_tests_does_not_help(tmp_path: Path) -> None:
    """With keep, a fix that marks one of the failing tests as expected failure is rolled back as well."""
    project = make_project(tmp_path / "shop", {"calc.py": _CALC, "test_calc.py": _TWO})
    skipping = "    if a == 1:\n        import pytest; pytest.xfail('x')\n    return a - b"

    with loop_runner(tmp_path, answer(skipping)) as loops:
        result = loops.loop(project, max_cycles=1, keep=True)

    assert result_of(result) == ("no_help", True)
    assert result.notes.modified_files == ()


def test_a_fixed_test_must_stay_fixed(tmp_path: Path) -> None:
    """A second fix that skips the test fixed by the first one is no success."""
    project = make_project(tmp_path / "shop", {"calc.py": _CALC, "test_calc.py": _TWO})
    first = answer("    return 3")
    second = first.replace(_BUG, "    return 3").replace("=======\n    return 3", "=======\n    return skipped(a) or 4")
    second += "calc.py\n<<<<<<< SEARCH\ndef add(a, b):\n=======\ndef skipped(a):\n    if a == 1:\n"
    second += "        import pytest; pytest.skip('x')\n\n\ndef add(a, b):\n>>>>>>> REPLACE\n"

    with loop_runner(tmp_path, first, second) as loops:
        result = loops.loop(project, max_cycles=2)

    verification = result.notes.history[1].verification
    assert result_of(result) == ("helped", False)
    assert verification is not None
    assert (verification.judgement, result.notes.outcome) == ("unproved", "max_cycles")


def test_passing_tests_prove_the_fix_of_an_import_error(tmp_path: Path) -> None:
    """An import error is fixed if a test of that module passes."""
    project = make_project(tmp_path / "shop", {"calc.py": "def sub(a, b):\n    return a - b\n", "test_calc.py": _TEST})
    new = "calc.py\n<<<<<<< SEARCH\ndef sub(a, b):\n=======\ndef add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n"

    with loop_runner(tmp_path, f"{new}>>>>>>> REPLACE\n") as loops:
        result = loops.loop(project, max_cycles=1)

    assert (result.notes.outcome, result_of(result)) == ("success", ("passed", False))


def test_a_runner_that_stops_early_is_a_warning(tmp_path: Path) -> None:
    """Without a report the exit status decides, but a missing closing line of the runner is a warning."""
    project = make_project(tmp_path / "shop", {"calc.py": _CALC, "test_calc.py": _UNITTEST})

    with loop_runner(tmp_path, answer("    import os; os._exit(0)")) as loops:
        result = loops.loop(project, test_cmd="python -m unittest", max_cycles=1)

    (warning,) = result.notes.warnings
    assert result.notes.outcome == "success"
    assert warning.startswith("with the fix, the output no longer has the closing line of unittest")


@pytest.mark.parametrize(
    ("output", "runner"),
    [
        ("1 failed, 2 passed in 0.10s", "pytest"),
        ("=== 2 passed ===", "pytest"),
        ("Ran 3 tests in 0.001s\n\nOK", "unittest"),
        ("\u2139 tests 3\n\u2139 pass 3", "node --test"),
        ("Tests:       1 failed, 3 passed, 4 total", "jest"),
        (" Tests  1 failed | 2 passed (3)", "vitest"),
        ("  3 passing (5ms)\n  1 failing", "mocha"),
        ("test result: FAILED. 1 passed; 1 failed", "cargo test"),
        ("ok 1 - a\n1..1", "TAP"),
    ],
)
def test_closing_lines_of_runners_are_known(output: str, runner: str) -> None:
    """Each runner is recognized by its closing line alone."""
    assert closing_runners(f"before\n{output}\nafter") == (runner,)
