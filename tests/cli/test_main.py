from __future__ import annotations

from types import MappingProxyType

import pytest

from eikon_engine.cli.main import COMMANDS, LazyCommand, LazyGroup, eikon
from eikon_engine.cli.shell import run_command


def test_help_lists_every_command_with_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    """`eikon --help` lists each command with its summary."""
    status = run_command(eikon, ["--help"], "eikon")

    printed = " ".join(capsys.readouterr().out.split())
    assert status == 0
    for name, entry in COMMANDS.items():
        assert f"{name} {entry.summary}" in printed


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_of_the_table_can_be_called(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each entry of the table is importable and prints its help."""
    status = run_command(eikon, [name, "--help"], "eikon")

    assert status == 0
    assert capsys.readouterr().out.startswith(f"Usage: eikon {name}")


def test_an_unknown_command_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """A command that is not in the table is a usage error with status 2."""
    status = run_command(eikon, ["replya"], "eikon")

    assert status == 2
    assert "No such command 'replya'" in capsys.readouterr().err


def test_an_entry_that_leads_to_something_else_is_our_fault(capsys: pytest.CaptureFixture[str]) -> None:
    """An entry of the table that is not a command is reported as an internal error."""
    table = MappingProxyType({"odd": LazyCommand(module="json", attribute="dumps", summary="None.")})

    status = run_command(LazyGroup(table, name="odd", summary="Odd."), ["odd"], "odd")

    assert status == 70
    assert "json:dumps is a function, not a click command" in capsys.readouterr().err
