"""Redact the events of a run again, for secrets that were found after they were written."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from eikon_engine.outcome.event_log import EVENTS_FILE
from eikon_engine.trace.whole_file import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.trace.redaction import Redactor


def redact_events_again(folder: Path, redactor: Redactor) -> None:
    """Rewrite `events.jsonl` and the files of its large values, which are named by their digest.

    Stand-ins have the length of their secret, so recorded sizes stay correct.

    Raises:
        OutputError: the folder cannot be written.
    """
    if redactor.is_noop:
        return
    events = folder / EVENTS_FILE
    text = old = events.read_bytes()
    stale = []
    for value in sorted((folder / "values").glob("*.json")):
        content = value.read_bytes()
        clean = redactor.redact_bytes(content)
        if clean != content:
            name = f"{hashlib.sha256(clean).hexdigest()}.json"
            write_atomically(value.with_name(name), clean)
            text = text.replace(f"values/{value.name}".encode(), f"values/{name}".encode())
            stale.append(value)
    text = redactor.redact_bytes(text)
    if text != old:
        write_atomically(events, text)
    for value in stale:
        value.unlink()
