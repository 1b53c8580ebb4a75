"""Options shared by the commands of `eikon debug`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

HELP_SETTINGS: Final = {"help_option_names": ["-h", "--help"]}

Command = TypeVar("Command", bound="Callable[..., object]")


def _sessions_folder(_context: click.Context, _parameter: click.Parameter, chosen: Path | None) -> Path:
    from eikon_engine.debug.session_folder import sessions_dir

    return sessions_dir(chosen, os.environ)


sessions_dir_option = click.option(
    "--sessions-dir",
    "parent",
    type=click.Path(path_type=Path),
    callback=_sessions_folder,
    help="Folder of all sessions.  [default: $EIKON_DEBUG_DIR, else eikon/debug in the user's state folder]",
)
session_option = click.option("-s", "--session", metavar="ID", help="Session to use.  [default: the only running one]")
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
