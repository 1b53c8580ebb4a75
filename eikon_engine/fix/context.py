"""Code excerpts relevant to a failure."""

from __future__ import annotations

from pydantic import Field

from eikon_engine.trace.record import FileModel


class ContextPiece(FileModel):
    """A range of lines of one file, or text evidence with the path it comes from."""

    file: str = Field(min_length=1)
    """Relative to the tree, with forward slashes."""
    first_line: int = Field(ge=1)
    last_line: int = Field(ge=1)
    text: str
    score: float
    """Relevance; higher is closer to the failure."""
    why: str
    """Why it was selected, in a few words: fails here, target file, …"""


class Context(FileModel):
    """The code shown to the model."""

    pieces: tuple[ContextPiece, ...]
    """Most relevant first."""
    tokens: int = Field(ge=0)
    """Estimated number of tokens of all pieces."""
    left_out: int = Field(default=0, ge=0)
    """Number of relevant pieces that exceeded the token budget."""

    @property
    def files(self) -> tuple[str, ...]:
        """Return the distinct files, in order."""
        return tuple(dict.fromkeys(piece.file for piece in self.pieces))
