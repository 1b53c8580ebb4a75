"""Make text from pages and traces safe to print on a terminal."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def escape_control_characters(text: str) -> str:
    """Escape control and bidirectional characters, which could rewrite terminal output, by their code."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
