from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.fix.run_script import with_junit_option

REPORT = Path("/session/it's here.xml")
ADDED = shlex.split(f"--junit-xml={shlex.quote(str(REPORT))} -o junit_family=xunit1")


def test_cd_before_pytest_is_supported(tmp_path: Path) -> None:
    """The pytest configuration of that folder applies."""
    (tmp_path / "app").mkdir()

    changed = with_junit_option("cd ./app && pytest -x", REPORT, cwd=tmp_path, environ={})
    (tmp_path / "app" / "pytest.ini").write_text("[pytest]\njunit_family = xunit2\n", encoding="utf-8")

    assert changed is not None
    assert shlex.split(changed) == ["cd", "./app", "&&", "pytest", *ADDED, "-x"]
    assert with_junit_option("cd ./app && pytest -x", REPORT, cwd=tmp_path, environ={}) is None
    assert with_junit_option("cd - && pytest -x", REPORT, cwd=tmp_path, environ={}) is None


@pytest.mark.parametrize(
    ("command", "program"),
    [
        ("pytest", 1),
        ("  pytest -k 'a and b' tests/", 1),
        (".venv/bin/pytest -q", 1),
        ("py.test x.py::test[a]", 1),
        ("python -m pytest -- -odd.py", 3),
        ("CI=1 A_B=x/y python3.11 -B -m pytest", 6),
        ('pytest -k "not slow"', 1),
    ],
)
def test_plain_pytest_writes_a_report(command: str, program: int, tmp_path: Path) -> None:
    """The option directly follows the program; all other words are unchanged."""
    words = shlex.split(command)

    changed = with_junit_option(command, REPORT, cwd=tmp_path, environ={})

    assert changed is not None
    assert shlex.split(changed) == [*words[:program], *ADDED, *words[program:]]


@pytest.mark.parametrize(
    "command",
    [
        "",
        "make test",
        "tox -e py",
        "pytest && echo done",
        "pytest | tee log",
        "pytest > log",
        "cd x; pytest",
        "pytest $(cat files)",
        "pytest `cat files`",
        "pytest $FILES",
        "pytest # all",
        "pytest\npytest",
        "pytest -k 'open",
        "pytest-watch",
        "python -m pytest_cov",
        "pytest --junit-xml=mine.xml",
        "pytest --junitxml mine.xml",
        "pytest -p no:junitxml",
        "echo pytest",
    ],
)
def test_other_commands_are_left_alone(command: str, tmp_path: Path) -> None:
    """Commands with shell expansions, other programs, or their own report are not changed."""
    assert with_junit_option(command, REPORT, cwd=tmp_path, environ={}) is None


@pytest.mark.parametrize("name", ["pytest.ini", "pyproject.toml", "setup.cfg"])
def test_a_configured_report_is_left_alone(name: str, tmp_path: Path) -> None:
    """A report in the project configuration is kept, also if it is in a parent folder."""
    (tmp_path / name).write_text("addopts = --junit-xml=mine.xml", encoding="utf-8")
    (tmp_path / "below").mkdir()

    assert with_junit_option("pytest", REPORT, cwd=tmp_path / "below", environ={}) is None


def test_an_environment_with_a_report_is_left_alone(tmp_path: Path) -> None:
    """PYTEST_ADDOPTS may contain the option, too."""
    assert with_junit_option("pytest", REPORT, cwd=tmp_path, environ={"PYTEST_ADDOPTS": "--junitxml=x"}) is None


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), max_size=4))
def test_arguments_stay_what_they_were(arguments: list[str]) -> None:
    """For any arguments, either only the option is added, or the command is not changed."""
    command = shlex.join(["pytest", *arguments])

    changed = with_junit_option(command, REPORT, cwd=Path("/nowhere"), environ={})

    assert changed is None or shlex.split(changed) == ["pytest", *ADDED, *arguments]
