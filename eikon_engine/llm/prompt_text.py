"""Parts of prompts: code fences, and the answer that means "no fix"."""

from __future__ import annotations

import re
from typing import Final

NO_FIX: Final = "NO FIX FOUND"
"""A model answers with it, followed by the reason."""
_FENCE: Final = re.compile(r"`{3,}")


def fenced(text: str) -> str:
    """Wrap a text in a code fence longer than any fence inside it."""
    longest = max((len(found[0]) for found in _FENCE.finditer(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text.strip(chr(10))}\n{fence}"
