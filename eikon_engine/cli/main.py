"""The `eikon` command: a table of sub-commands, each imported when it is asked for."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module, metadata
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from eikon_engine.shell import run_command

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEntry:
    """Say where a sub-command lives and what it is for."""

    module: str
    attribute: str
    summary: str
    """One line for `eikon --help`, so that listing the commands imports none of them."""


COMMANDS: Mapping[str, CommandEntry] = MappingProxyType(
    {
        "certify": CommandEntry(
            module="eikon_engine.cli.certify",
            attribute="certify_command",
            summary="Prove that a bundle replays equally, or propose what makes it.",
        ),
        "debug": CommandEntry(
            module="eikon_engine.cli.debug",
            attribute="debug_command",
            summary="Stop a mission anywhere, look, go back, try another way, compare.",
        ),
        "doctor": CommandEntry(
            module="eikon_engine.cli.doctor",
            attribute="doctor_command",
            summary="Tell what is present on this machine, and get a browser.",
        ),
        "events": CommandEntry(
            module="eikon_engine.cli.events",
            attribute="events_command",
            summary="Show what happened in a run, or follow it.",
        ),
        "export": CommandEntry(
            module="eikon_engine.cli.export",
            attribute="export_command",
            summary="Write a bundle for others: as a Playwright test, its network as HAR, or one file.",
        ),
        "fix": CommandEntry(
            module="eikon_engine.cli.fix",
            attribute="fix_command",
            summary="Mend code in a copy until its tests pass: test, analyse, fix, test again.",
        ),
        "gate": CommandEntry(
            module="eikon_engine.cli.gate",
            attribute="gate_command",
            summary="Judge outcomes, bundles and runs by limits.",
        ),
        "import": CommandEntry(
            module="eikon_engine.cli.import_recording",
            attribute="import_command",
            summary="Make a bundle of the recording of another tool.",
        ),
        "record": CommandEntry(
            module="eikon_engine.cli.record",
            attribute="record_command",
            summary="Record a mission that is done now.",
        ),
        "repl": CommandEntry(
            module="eikon_engine.cli.repl",
            attribute="repl_command",
            summary="Ask for tasks at a prompt: /task debug:loop …",
        ),
        "replay": CommandEntry(
            module="eikon_engine.replay.replay_cli",
            attribute="replay_command",
            summary="Replay a recorded mission and stop at the first divergence.",
        ),
        "run": CommandEntry(
            module="eikon_engine.cli.run",
            attribute="run_command",
            summary="Record a scenario with its tools and models, or replay it without executing anything.",
        ),
        "scan": CommandEntry(
            module="eikon_engine.cli.scan",
            attribute="scan_command",
            summary="Search a bundle or a run for secrets that were missed.",
        ),
        "schema": CommandEntry(
            module="eikon_engine.cli.schema",
            attribute="schema_command",
            summary="Print the JSON Schema of a format.",
        ),
        "skills": CommandEntry(
            module="eikon_engine.cli.skills",
            attribute="skills_command",
            summary="List skills, run one on a stored page, rerun recorded ones and accept what changed.",
        ),
        "trace": CommandEntry(
            module="eikon_engine.cli.trace",
            attribute="trace_command",
            summary="Show a bundle, and change a copy of it.",
        ),
    }
)


class LazyGroup(click.Group):
    """Offer the commands of a table without importing them."""

    def __init__(self, table: Mapping[str, CommandEntry], *, name: str, summary: str) -> None:
        """Keep the table; `summary` is the text above the list of commands."""
        super().__init__(name=name, help=summary)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands in alphabetical order."""
        return sorted(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import one command."""
        entry = self._table.get(cmd_name)
        if entry is None:
            return None
        command = getattr(import_module(entry.module), entry.attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.module}:{entry.attribute} is a {type(command).__name__}, not a click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the list of commands from the table alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._table[name].summary) for name in sorted(self._table)])


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's signature
    if wanted:
        try:
            version = metadata.version("eikon-engine")
        except metadata.PackageNotFoundError:
            version = "(not installed, run from its sources)"
        click.echo(f"eikon {version}")
        ctx.exit()


eikon = LazyGroup(
    COMMANDS, name="eikon", summary="Record browser-agent missions, replay them strictly, find where they diverge."
)
eikon.params.append(
    click.Option(
        ["--version"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_print_version,
        help="Show the version and exit.",
    )
)


def main() -> None:
    """Run the command line and leave with its exit status."""
    sys.exit(run_command(eikon, sys.argv[1:], "eikon"))
