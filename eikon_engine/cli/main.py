"""The `eikon` command: a table of sub-commands, each imported on first use."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import click

from eikon_engine.cli.command import Group
from eikon_engine.cli.shell import end_process, run_command

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class LazyCommand:
    """Where a sub-command is defined, and its summary."""

    module: str
    attribute: str
    summary: str
    """One line for `eikon --help`, which imports no sub-command."""
    section: str = "Commands"
    """Heading in the help of its group."""


COMMANDS: Mapping[str, LazyCommand] = MappingProxyType(
    {
        name: LazyCommand(
            module=f"eikon_engine.cli.{module}",
            attribute=f"{name}_command",
            summary=summary,
            section=section,
        )
        for section, module, name, summary in (
            ("Record", "record", "record", "Record a script, a person, or the actions of a bundle."),
            ("Record", "run", "run", "Record a scenario with tools and models, or replay one."),
            ("Record", "import_recording", "import", "Convert the recording of another tool to a bundle."),
            ("Record", "certify", "certify", "Check that a bundle replays deterministically; propose fixes."),
            ("Record", "learn", "learn", "Propose rules for what differs among recordings of a mission."),
            ("Replay", "replay", "replay", "Replay a recorded mission; stop at the first divergence."),
            ("Replay", "compare", "compare", "Find what one deployment of a site does differently."),
            ("Replay", "accept", "accept", "Make what a reviewed live replay showed the new baseline."),
            ("Replay", "gate", "gate", "Evaluate gates on outcomes, bundles and runs."),
            ("Suites and history", "suite", "suite", "Replay many bundles, on one machine or on several."),
            ("Suites and history", "triage", "triage", "Group failed replays by what caused them."),
            ("Suites and history", "history", "history", "List what became of each replay."),
            ("Suites and history", "history", "flaky", "List missions whose equal runs ended differently."),
            (
                "Suites and history",
                "history",
                "quarantine",
                "Put a mission into quarantine until a day, with a reason.",
            ),
            ("Understand", "show", "show", "Look at runs and bundles in a browser."),
            ("Understand", "report", "report", "Render the outcome of a replay: page, JUnit XML, Markdown …"),
            ("Understand", "diff", "diff", "Compare two bundles, two outcomes, or one of each."),
            ("Understand", "events", "events", "Print the events of a run, or follow it."),
            ("Understand", "skills", "skills", "List skills, run one on a stored page, rerun recorded ones."),
            ("Debug and fix", "debug", "debug", "Pause a mission at any step, inspect it, go back, branch."),
            ("Debug and fix", "fix", "fix", "Fix code until its tests pass; repair recorded missions."),
            ("Debug and fix", "repl", "repl", "Run tasks of the debug loop at a prompt."),
            ("Bundles", "trace", "trace", "Show what is in a bundle, or edit a copy of it."),
            ("Bundles", "export", "export", "Export a bundle: Playwright test or trace, HAR, one file."),
            ("Bundles", "scan", "scan", "Search a bundle or a run for secrets that were not redacted."),
            ("Bundles", "schema", "schema", "Print the JSON Schema of a format."),
            ("Setup", "demo", "demo", "Run a small shop to record and replay, as in the tutorial."),
            ("Setup", "doctor", "doctor", "Check the requirements on this machine; install a browser."),
            ("Setup", "config", "config", "Show what is configured for replays, and where."),
            ("Setup", "completion", "completion", "Print or install the completion of commands for a shell."),
        )
    }
)
"""The commands in the order of `eikon --help`."""


class LazyGroup(Group):
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
        """List the commands from the table, by section, without importing them."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, entry in self._table.items():
            sections.setdefault(entry.section, []).append((name, entry.summary))
        width = max(map(len, self._table))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in rows])


def _print_version(ctx: click.Context, _param: click.Parameter, expected: bool) -> None:  # noqa: FBT001 - click's signature
    if expected:
        from importlib import metadata

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


COMPLETE: Final = "_EIKON_COMPLETE"
"""Environment variable with which the script of a shell asks for completions."""


def main() -> None:
    """Run the command line and exit with its status."""
    instruction = os.environ.get(COMPLETE)
    if instruction:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(eikon, {}, "eikon", COMPLETE, instruction))
    end_process(run_command(eikon, sys.argv[1:], "eikon"))
