"""Keep out of prompts, and of what is kept of them, what gives access by its look alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.trace.token_shapes import PRIVATE_KEY, tokens

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

HIDDEN: Final = "<secret>"


def without_tokens(text: str) -> str:
    """Return a text with a word in the place of each key and token of known shape."""
    spans = sorted({*((each.start, each.end) for each in tokens(text)), *(key.span(1) for key in _keys(text))})
    parts, behind = [], 0
    for start, end in spans:
        if start >= behind:
            parts += [text[behind:start], HIDDEN]
        behind = max(behind, end)
    return "".join((*parts, text[behind:]))


def _keys(text: str) -> Iterator[re.Match[str]]:
    """Look for private keys only where one can be: searching for a fixed text is quick."""
    return PRIVATE_KEY.finditer(text) if "PRIVATE KEY" in text else iter(())
