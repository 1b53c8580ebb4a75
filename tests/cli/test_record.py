"""`eikon record` rejects options that the chosen source does not use, before anything is run or written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from eikon_engine.cli.main import eikon
from eikon_engine.cli.shell import run_command

if TYPE_CHECKING:
    from pathlib import Path

USAGE = 2


@pytest.mark.parametrize(
    ("option", "name"),
    [
        (["--clock", "natural"], "--clock"),
        (["--var", "A=1"], "--var"),
    ],
)
def test_a_script_has_no_use_for_options_of_traces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: list[str], name: str
) -> None:
    """Options that would be ignored are rejected."""
    status = run_command(eikon, ["record", "--script", "shop.py", "-o", str(tmp_path / "b"), *option], "eikon")

    assert status == USAGE
    assert capsys.readouterr().err == f"eikon: {name} does not apply to --script; remove it (code usage)\n"
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(
    ("option", "name"),
    [(["--mission", "Buy"], "--mission"), (["--no-certify"], "--no-certify"), (["--", "--fast"], "ARGUMENTS")],
)
def test_a_trace_has_no_use_for_options_of_scripts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: list[str], name: str
) -> None:
    """Options that would be ignored are rejected."""
    status = run_command(eikon, ["record", "--trace", "bundle", "-o", str(tmp_path / "b"), *option], "eikon")

    assert status == USAGE
    assert capsys.readouterr().err == f"eikon: {name} does not apply to --trace; remove it (code usage)\n"


@pytest.mark.parametrize(
    ("sources", "found"), [([], "none"), (["--trace", "b", "--script", "s.py"], "--trace and --script")]
)
def test_a_mission_has_one_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], sources: list[str], found: str
) -> None:
    """Either a trace or a script defines the actions."""
    status = run_command(eikon, ["record", *sources, "-o", str(tmp_path / "b")], "eikon")

    assert status == USAGE
    assert f"expected one of BUNDLE, --script and --url, got {found}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "script"),
    [
        (["agent.py"], "agent.py"),
        (["agent.py", "--", "--fast"], "agent.py"),
        (["--trace", "agent.py"], "agent.py"),
        (["test_shop.py::test_order"], "test_shop.py::test_order"),
    ],
)
def test_a_script_in_the_place_of_a_bundle_is_asked_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], script: str
) -> None:
    """Only a question: nothing is run, since a script acts on a site."""
    status = run_command(eikon, ["record", "-o", str(tmp_path / "b"), *arguments], "eikon")

    assert status == USAGE
    assert capsys.readouterr().err == f"eikon: {script} is a script: did you mean --script {script}? (code usage)\n"
    assert not (tmp_path / "b").exists()
