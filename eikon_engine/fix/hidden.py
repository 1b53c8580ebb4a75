"""Hide keys and tokens that are recognizable by their format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.trace.token_shapes import PRIVATE_KEY, find_tokens

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

TOKEN_REPLACEMENT: Final = "<secret>"


def hide_tokens(text: str) -> str:
    """Replace each private key and token of a known format by `<secret>`."""
    spans = sorted(
        {*((each.secret_start, each.end) for each in find_tokens(text)), *(key.span(1) for key in _private_keys(text))}
    )
    parts, behind = [], 0
    for start, end in spans:
        if start >= behind:
            parts += [text[behind:start], TOKEN_REPLACEMENT]
        behind = max(behind, end)
    return "".join((*parts, text[behind:]))


def _private_keys(text: str) -> Iterator[re.Match[str]]:
    """Find private keys; the substring test is faster than the pattern."""
    return PRIVATE_KEY.finditer(text) if "PRIVATE KEY" in text else iter(())
