"""Make text from pages and traces safe to print on a terminal, and in the log of a job."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_COMMAND = re.compile(r"^([^\S\n]*):(?=:[A-Za-z-]+[^\n]*::)|#(?=#(?:vso|teamcity)?\[)", re.MULTILINE)
"""What begins a command to the service that runs a job and reads its log: `::error::` of GitHub, at the beginning of a
line, `##[error]` of GitHub and `##vso[task.setvariable]` of Azure Pipelines, anywhere, `##teamcity[message]`."""


def escape_control_characters(text: str) -> str:
    """Escape control and bidirectional characters, which could rewrite terminal output, by their code.

    So are commands that a service for continuous integration would obey.
    """
    escaped = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    return _COMMAND.sub(lambda found: found[1] + "\\x3a" if found[1] is not None else "\\x23", escaped)


def safe_line(text: str) -> str:
    """Return a text as one line that is safe to print."""
    return escape_control_characters(text.replace("\n", " "))


def safe_lines(lines: Iterable[str]) -> str:
    """Return each text as one line that is safe to print: no text that they contain can look like a line of ours."""
    return "".join(f"{safe_line(each)}\n" for each in lines)
