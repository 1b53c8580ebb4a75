"""Select the most relevant pieces within a token budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.fix.context import Context, ContextPiece
from eikon_engine.fix.memory.chunks import lines_of

if TYPE_CHECKING:
    from collections.abc import Sequence

BYTES_PER_TOKEN: Final = 3
"""Code has 3 to 4 UTF-8 bytes per token; the lower bound is the safe one."""
HEADER_TOKENS: Final = 20
"""Overhead of a piece's header."""


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN) + HEADER_TOKENS


def fit_budget(pieces: Sequence[ContextPiece], budget: int, around: int | None) -> Context:
    """Select whole pieces in order while they fit; `left_out` counts the others.

    The first piece is cut to the lines around `around` if it alone exceeds the budget.
    """
    taken: list[ContextPiece] = []
    tokens = 0
    for number, piece in enumerate(pieces):
        fitting = _cut_piece(piece, budget, around) if number == 0 else piece
        cost = estimate_tokens(fitting.text)
        if tokens + cost <= budget:
            taken.append(fitting)
            tokens += cost
    return Context(pieces=tuple(taken), tokens=tokens, left_out=len(pieces) - len(taken))


def _cut_piece(piece: ContextPiece, budget: int, around: int | None) -> ContextPiece:
    """Drop lines from both ends of a piece, keeping the middle, until it fits."""
    lines = lines_of(piece.text)
    middle = min(max((around or piece.first_line) - piece.first_line, 0), len(lines) - 1)
    first, end = 0, len(lines)
    while end - first > 1 and estimate_tokens("".join(lines[first:end])) > budget:
        if middle - first >= end - 1 - middle:
            first += 1
        else:
            end -= 1
    return piece.model_copy(
        update={
            "text": "".join(lines[first:end]),
            "first_line": piece.first_line + first,
            "last_line": piece.first_line + end - 1,
        }
    )
