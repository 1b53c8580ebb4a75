"""The `eikon` command: a table of sub-commands, each imported on first use."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module, metadata
from types import MappingProxyType
from typing import TYPE_CHECKING

import click

from eikon_engine.cli.shell import run_command

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyCommand:
    """Where a sub-command is defined, and its summary."""

    module: str
    attribute: str
    summary: str
    """One line for `eikon --help`, which imports no sub-command."""


COMMANDS: Mapping[str, LazyCommand] = MappingProxyType(
    {
        "accept": LazyCommand(
            module="eikon_engine.cli.accept",
            attribute="accept_command",
            summary="Make what a reviewed live replay showed the baseline of further ones.",
        ),
        "certify": LazyCommand(
            module="eikon_engine.cli.certify",
            attribute="certify_command",
            summary="Check that a bundle replays deterministically; if not, propose masks and rules.",
        ),
        "compare": LazyCommand(
            module="eikon_engine.cli.compare",
            attribute="compare_command",
            summary="Find what one deployment of a site does differently from another.",
        ),
        "config": LazyCommand(
            module="eikon_engine.cli.config",
            attribute="config_command",
            summary="Show what is configured for replays, and where.",
        ),
        "debug": LazyCommand(
            module="eikon_engine.cli.debug",
            attribute="debug_command",
            summary="Pause a mission at any step, inspect it, go back, branch and compare.",
        ),
        "diff": LazyCommand(
            module="eikon_engine.cli.diff",
            attribute="diff_command",
            summary="Compare two bundles, two outcomes, or an outcome with its bundle.",
        ),
        "doctor": LazyCommand(
            module="eikon_engine.cli.doctor",
            attribute="doctor_command",
            summary="Check the requirements on this machine; install a browser.",
        ),
        "events": LazyCommand(
            module="eikon_engine.cli.events",
            attribute="events_command",
            summary="Print the events of a run, or follow it.",
        ),
        "export": LazyCommand(
            module="eikon_engine.cli.export",
            attribute="export_command",
            summary="Export a bundle: as a Playwright test, as HAR, or as one file.",
        ),
        "fix": LazyCommand(
            module="eikon_engine.cli.fix",
            attribute="fix_command",
            summary="Fix code in a copy until its tests pass: test, analyse, fix, test again.",
        ),
        "flaky": LazyCommand(
            module="eikon_engine.cli.history",
            attribute="flaky_command",
            summary="List missions whose equal runs ended differently, and those that fail.",
        ),
        "gate": LazyCommand(
            module="eikon_engine.cli.gate",
            attribute="gate_command",
            summary="Evaluate gates on outcomes, bundles and runs.",
        ),
        "history": LazyCommand(
            module="eikon_engine.cli.history",
            attribute="history_command",
            summary="List what became of each replay.",
        ),
        "import": LazyCommand(
            module="eikon_engine.cli.import_recording",
            attribute="import_command",
            summary="Convert the recording of another tool to a bundle.",
        ),
        "learn": LazyCommand(
            module="eikon_engine.cli.learn",
            attribute="learn_command",
            summary="Propose rules and masks for what differs among recordings of one mission.",
        ),
        "quarantine": LazyCommand(
            module="eikon_engine.cli.history",
            attribute="quarantine_command",
            summary="Put a mission into quarantine until a day, with a reason.",
        ),
        "record": LazyCommand(
            module="eikon_engine.cli.record",
            attribute="record_command",
            summary="Record a mission.",
        ),
        "repl": LazyCommand(
            module="eikon_engine.cli.repl",
            attribute="repl_command",
            summary="Run tasks at a prompt: /task debug:loop …",
        ),
        "replay": LazyCommand(
            module="eikon_engine.cli.replay",
            attribute="replay_command",
            summary="Replay a recorded mission and stop at the first divergence.",
        ),
        "report": LazyCommand(
            module="eikon_engine.cli.report",
            attribute="report_command",
            summary="Render the outcome of a replay: as text, a page, JUnit XML, Markdown, annotations.",
        ),
        "run": LazyCommand(
            module="eikon_engine.cli.run",
            attribute="run_command",
            summary="Record a scenario with its tools and models, or replay it without calling them.",
        ),
        "scan": LazyCommand(
            module="eikon_engine.cli.scan",
            attribute="scan_command",
            summary="Search a bundle or a run for secrets that were not redacted.",
        ),
        "schema": LazyCommand(
            module="eikon_engine.cli.schema",
            attribute="schema_command",
            summary="Print the JSON Schema of a format.",
        ),
        "show": LazyCommand(
            module="eikon_engine.cli.show",
            attribute="show_command",
            summary="Look at runs and bundles in a browser.",
        ),
        "skills": LazyCommand(
            module="eikon_engine.cli.skills",
            attribute="skills_command",
            summary="List skills, run one on a stored page, re-run recorded ones and accept new outputs.",
        ),
        "suite": LazyCommand(
            module="eikon_engine.cli.suite",
            attribute="suite_command",
            summary="Replay many bundles as a suite, on one machine or on several.",
        ),
        "trace": LazyCommand(
            module="eikon_engine.cli.trace",
            attribute="trace_command",
            summary="Show a bundle, or edit a copy of it.",
        ),
        "triage": LazyCommand(
            module="eikon_engine.cli.triage",
            attribute="triage_command",
            summary="Group failed replays by what caused them.",
        ),
    }
)


class LazyGroup(click.Group):
    """A group of commands that are imported on first use."""

    def __init__(self, table: Mapping[str, LazyCommand], *, name: str, summary: str) -> None:
        """Store the table; `summary` is the text above the list of commands."""
        super().__init__(name=name, help=summary)
        self._table = table

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands in alphabetical order."""
        return sorted(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import a command; None if there is none of this name."""
        entry = self._table.get(cmd_name)
        if entry is None:
            return None
        command = getattr(import_module(entry.module), entry.attribute)
        if not isinstance(command, click.Command):
            raise TypeError(f"{entry.module}:{entry.attribute} is a {type(command).__name__}, not a click command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands from the table, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._table[name].summary) for name in sorted(self._table)])


def _print_version(ctx: click.Context, _param: click.Parameter, expected: bool) -> None:  # noqa: FBT001 - click's signature
    if expected:
        try:
            version = metadata.version("eikon-engine")
        except metadata.PackageNotFoundError:
            version = "(not installed, running from source)"
        click.echo(f"eikon {version}")
        ctx.exit()


eikon = LazyGroup(
    COMMANDS, name="eikon", summary="Record missions of browser agents, replay them strictly, find where they diverge."
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
    """Run the command line and exit with its status."""
    sys.exit(run_command(eikon, sys.argv[1:], "eikon"))
