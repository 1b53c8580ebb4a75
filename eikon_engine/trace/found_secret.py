"""What a trace says of the secrets that are not in it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from eikon_engine.trace.record import Record


class FoundSecret(Record):
    """A value that nobody named, and what stands in its place."""

    kind: Literal["address", "body", "cookie", "header", "storage", "token"]
    """Where it was found first."""
    name: str
    """What it went by there: a cookie, header, parameter, key, or the shape of a token."""
    stand_in: str = Field(min_length=1)
    """What stands for it in every file, as it is or encoded."""


class TypedSecret(Record):
    """What a sealed replay types for a secret that nobody gives."""

    name: str
    stand_in: str = Field(min_length=1, repr=False)
    """As long as the secret, of the same kinds of characters, and nowhere else in the bundle."""


class Redaction(Record):
    """What was replaced in the files of a bundle."""

    found: tuple[FoundSecret, ...] = ()
    typed: tuple[TypedSecret, ...] = ()
