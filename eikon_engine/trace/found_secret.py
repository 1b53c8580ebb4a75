"""What a trace records about the secrets that were replaced in its files."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from eikon_engine.trace.record import FileModel


class FoundSecret(FileModel):
    """An unnamed secret that was found and replaced by a stand-in."""

    kind: Literal["address", "body", "cookie", "header", "storage", "token"]
    """Where it was first found."""
    name: str
    """Its name there: of a cookie, header, parameter or key, or the kind of token."""
    stand_in: str = Field(min_length=1)
    """The text that replaces it in every file, as it is or encoded."""


class TypedSecret(FileModel):
    """The text that a sealed replay types for a secret that is not provided."""

    name: str
    stand_in: str = Field(min_length=1, repr=False)
    """As long as the secret, with the same kinds of characters, and unique in the bundle."""


class Redaction(FileModel):
    """What was replaced in the files of a bundle."""

    found: tuple[FoundSecret, ...] = ()
    typed: tuple[TypedSecret, ...] = ()
