"""Keep out of prompts, and of what is kept of them, what gives access by its look alone."""

from __future__ import annotations

from typing import Final

from eikon_engine.trace.token_shapes import PRIVATE_KEY, tokens

HIDDEN: Final = "<secret>"


def without_tokens(text: str) -> str:
    """Return a text with a word in the place of each key and token of known shape."""
    found = {(each.start, each.end) for each in tokens(text)}
    found |= {key.span(1) for key in PRIVATE_KEY.finditer(text)}
    for start, end in sorted(found, reverse=True):
        text = text[:start] + HIDDEN + text[end:]
    return text
