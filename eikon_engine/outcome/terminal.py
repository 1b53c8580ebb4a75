"""Make text from pages and traces safe to print on a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def escape_control_characters(text: str) -> str:
    """Escape control and bidirectional characters, which could rewrite terminal output, by their code."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def safe_line(text: str) -> str:
    """Return a text as one line that is safe to print."""
    return escape_control_characters(text.replace("\n", " "))


def safe_lines(lines: Iterable[str]) -> str:
    """Return each text as one line that is safe to print: no text that they contain can look like a line of ours."""
    return "".join(f"{safe_line(each)}\n" for each in lines)
