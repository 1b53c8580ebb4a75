"""`eikon fix sessions`: list the sessions of debug loops."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from eikon_engine.fix.session import SESSION_FILE, SessionRecord, is_alive, read_session, sessions_folder
from eikon_engine.fix.write_back import recover_all
from eikon_engine.outcome.terminal import safe_line


def list_sessions(chosen: Path | None, *, as_json: bool) -> None:
    """Print the sessions of a folder, newest first; interrupted changes of a tree are recovered first.

    Raises:
        SessionError: a session cannot be read.
    """
    home = chosen or sessions_folder(Path.home(), os.environ)
    for line in recover_all(home):
        click.echo(safe_line(line), err=True)
    folders = sorted((path.parent for path in home.glob(f"*/{SESSION_FILE}")), reverse=True)
    found = [(folder, read_session(folder), is_alive(folder)) for folder in folders]
    if as_json:
        listing = [
            {**note.model_dump(mode="json"), "state": _session_state(note, alive=alive), "folder": str(folder)}
            for folder, note, alive in found
        ]
        click.echo(json.dumps(listing, indent=1))
        return
    for folder, note, alive in found:
        where = f"cycle {note.cycle} at {note.step}" if note.step else f"cycle {note.cycle}"
        click.echo(
            safe_line(f"{folder.name}  {_session_state(note, alive=alive):11}  {where}  {note.tree}  {note.command}")
        )


def _session_state(note: SessionRecord, *, alive: bool) -> str:
    """Return the state of a session; a dead process without a final state was killed."""
    return "killed" if note.state in {"running", "writing"} and not alive else note.state
