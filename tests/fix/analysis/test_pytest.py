from __future__ import annotations

from pathlib import Path

import pytest

from eikon_engine.fix.analysis.analyze_run import analyze_run
from eikon_engine.fix.analysis.pytest_output import verbose_results
from eikon_engine.fix.models import Analysis, AnalysisInput
from tests.fix.analysis.running import CALCULATOR, PYTEST, printed, ran, write

ALL = f"{PYTEST} --continue-on-collection-errors"
COLLECTION = ("tests/test_import.py", "ModuleNotFoundError: No module named 'not_there'", "tests/test_import.py", 1)
CALLS = (
    ("tests/test_calc.py::test_add", "AssertionError: <object object at 0x…>", "tests/test_calc.py", 7),
    (
        "tests/test_calc.py::TestLoad::test_load[{]",
        "json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        "calc.py",
        9,
    ),
    (
        "tests/test_calc.py::TestLoad::test_load[a b]",
        "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        "calc.py",
        9,
    ),
)
SETUP = ("tests/test_calc.py::test_setup", "ValueError: nope", "tests/test_calc.py", 18)


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> AnalysisInput:
    """Return a run with long tracebacks and a report."""
    tree = write(tmp_path_factory.mktemp("long"), CALCULATOR)
    return ran(tree, tmp_path_factory.mktemp("session"), ALL)


def test_failures_are_read_from_the_report_in_test_order(long_run: AnalysisInput) -> None:
    """Each failure has its node id, its message, and the innermost frame in the project."""
    analysis = analyze_run(long_run)

    assert long_run.run.junit_xml is not None
    assert _reported(analysis) == (COLLECTION, *CALLS, SETUP)
    assert not analysis.passed
    assert analysis.summary == f"failed (exit status 1), 5 failures, first {COLLECTION[0]}: {COLLECTION[1]}"


def test_without_a_report_failures_are_read_from_the_output(long_run: AnalysisInput) -> None:
    """The output of pytest has the same failures, errors first."""
    without = AnalysisInput(
        run=long_run.run.model_copy(update={"junit_xml": None}), session=long_run.session, tree=long_run.tree
    )

    assert _reported(analyze_run(without)) == (COLLECTION, SETUP, *CALLS)


def test_frames_are_ordered_from_the_test_to_the_raise(long_run: AnalysisInput) -> None:
    """Frames of the standard library are named without its folder."""
    load = analyze_run(long_run).failures[2]

    assert [(frame.file, frame.name) for frame in load.frames] == [
        ("tests/test_calc.py", ""),
        ("calc.py", "load"),
        ("<python>/json/__init__.py", "loads"),
        ("<python>/json/decoder.py", "decode"),
        ("<python>/json/decoder.py", ""),
    ]


@pytest.mark.parametrize("style", ["short", "native"])
def test_other_tracebacks_are_read_as_well(tmp_path: Path, style: str) -> None:
    """Short and native tracebacks give the same locations and messages."""
    output = ran(write(tmp_path / "tree", CALCULATOR), tmp_path, f"{ALL} -q --tb={style} --junit-xml=mine.xml")

    reported = {(id_, file, line) for id_, _, file, line in _reported(analyze_run(output))}

    assert output.run.junit_xml is None
    assert reported == {(id_, file, line) for id_, _, file, line in (COLLECTION, *CALLS, SETUP)}


def test_runs_in_different_folders_have_equal_analyses(long_run: AnalysisInput, tmp_path: Path) -> None:
    """An analysis contains no folder, address, time or worker, so another run of the same tests gives an equal one."""
    again = ran(write(tmp_path / "elsewhere", CALCULATOR), tmp_path / "session", ALL)

    assert analyze_run(again) == analyze_run(long_run)
    assert str(tmp_path) not in analyze_run(again).model_dump_json()


def test_a_damaged_report_is_ignored(long_run: AnalysisInput, tmp_path: Path) -> None:
    """If the report is truncated or declares XML entities, the output is analyzed instead."""
    for damage in (
        "<testsuites><testsuite>",
        _NAMED_TYPE,
        '<!DOCTYPE x [<!ENTITY a "b">]><testsuites>&a;</testsuites>',
    ):
        (long_run.session / "run" / "bad.xml").write_text(damage, encoding="utf-8")
        run = long_run.run.model_copy(update={"junit_xml": "run/bad.xml"})

        analysis = analyze_run(AnalysisInput(run=run, session=long_run.session, tree=long_run.tree))

        assert _reported(analysis) == (COLLECTION, SETUP, *CALLS)


_NAMED_TYPE = '<!DOCTYPE x><testsuites><testcase name="x"><failure message="y"/></testcase></testsuites>'


def _reported(analysis: Analysis) -> tuple[tuple[str, str, str | None, int | None], ...]:
    return tuple((each.id, each.message, each.file, each.line) for each in analysis.failures)


def test_every_failure_is_counted(tmp_path: Path) -> None:
    """200 of 300 failures are listed, and the ids of all others are kept."""
    lines = "".join(f"FAILED test_a.py::test_{number} - assert 0\n" for number in range(300))
    text = f"=== short test summary info ===\n{lines}=== 300 failed in 0.10s ===\n"

    analysis = printed(tmp_path, tmp_path, stdout=text)

    assert len(analysis.failures) == 200
    assert analysis.failing == {f"test_a.py::test_{number}" for number in range(300)}


@pytest.mark.parametrize(
    ("options", "others"),
    [("-x -v", ("test_a.py::test_1[a b]", "test_a.py::test_2")), ("-x -v -s", None), ("-x", None)],
)
def test_verbose_output_shows_which_tests_ran(tmp_path: Path, options: str, others: tuple[str, ...] | None) -> None:
    """Without a report the tests are known from -v, unless output of tests is mixed in; otherwise they are unknown."""
    text = (
        "import pytest\n\n@pytest.mark.parametrize('x', ['a b'])\ndef test_1(x):\n    print('hello')\n\n"
        "@pytest.mark.skip(reason='not (yet) PASSED')\ndef test_2():\n    pass\n\n"
        "def test_3():\n    assert 0\n\ndef test_4():\n    assert 0\n"
    )
    tree = write(tmp_path / "tree", {"test_a.py": text})

    analysis = analyze_run(ran(tree, tmp_path / "session", f"true; {PYTEST} {options}"))

    assert analysis.failing == {"test_a.py::test_3"}
    assert (analysis.stopped_early, analysis.other_tests) == (True, others)


def test_verbose_output_that_contradicts_the_totals_is_ignored() -> None:
    """With two runs in one output, or a missing or additional line, it is unknown which tests ran."""
    line, end = "test_a.py::test_1 PASSED   [ 50%]\n", "=== 1 failed, 1 passed ===\n"
    failed = "test_a.py::test_2 FAILED   [100%]\n"

    assert verbose_results(line + failed + end) == ("test_a.py::test_1",)
    assert [verbose_results(each) for each in (line + end, line * 2 + failed + end, line + failed + end * 2)] == [
        None
    ] * 3
