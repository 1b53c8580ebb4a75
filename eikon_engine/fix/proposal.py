"""What is proposed as a fix."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from eikon_engine.trace.patch import TracePatch
from eikon_engine.trace.record import Record


class ReplaceText(Record):
    """Put other lines in the place of lines that stand in a file exactly once."""

    kind: Literal["replace"] = "replace"
    file: str = Field(min_length=1)
    """Relative to the tree."""
    search: str
    """Empty for a file that is to be made."""
    replace: str


class UnifiedDiff(Record):
    """Apply a difference as `git apply` does."""

    kind: Literal["diff"] = "diff"
    text: str = Field(min_length=1)


TextEdit: TypeAlias = Annotated[ReplaceText | UnifiedDiff, Field(discriminator="kind")]


class TextFix(Record):
    """A change of files, in the words of a model."""

    kind: Literal["text"] = "text"
    text: str
    """The whole answer."""
    edits: tuple[TextEdit, ...] = ()
    """What was read out of it; empty only where the applier reads the answer itself."""


class PatchFix(Record):
    """A change of a recorded mission."""

    kind: Literal["patch"] = "patch"
    patch: TracePatch
    reason: str = Field(min_length=1)
    """Why, for those who accept it."""


class NoFix(Record):
    """Say that nobody knows a fix."""

    kind: Literal["none"] = "none"
    reason: str = Field(min_length=1)


Proposal: TypeAlias = Annotated[TextFix | PatchFix | NoFix, Field(discriminator="kind")]
Fix: TypeAlias = TextFix | PatchFix
"""A proposal that can be applied."""
