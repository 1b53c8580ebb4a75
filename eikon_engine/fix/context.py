"""Pieces of code that belong to a failure."""

from __future__ import annotations

from pydantic import Field

from eikon_engine.trace.record import Record


class ContextPiece(Record):
    """Lines of one file, or words on where they come from."""

    file: str = Field(min_length=1)
    """Relative to the tree, with forward slashes."""
    first_line: int = Field(ge=1)
    last_line: int = Field(ge=1)
    text: str
    score: float
    """The higher, the closer to the failure."""
    why: str
    """Why it was chosen, in a few words: named by the failure, a target file, …"""


class Context(Record):
    """What a model is shown of the code."""

    pieces: tuple[ContextPiece, ...]
    """Best first."""
    tokens: int = Field(ge=0)
    """How many the pieces come to, by an estimate."""
    left_out: int = Field(default=0, ge=0)
    """Pieces that were found and had no room."""

    @property
    def files(self) -> tuple[str, ...]:
        """Name the files, each once."""
        return tuple(dict.fromkeys(piece.file for piece in self.pieces))
