"""Proposed fixes."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from eikon_engine.trace.patch import TracePatch
from eikon_engine.trace.record import FileModel


class ReplaceText(FileModel):
    """Replace lines that occur exactly once in a file."""

    kind: Literal["replace"] = "replace"
    file: str = Field(min_length=1)
    """Relative to the tree."""
    search: str
    """Empty to create a file."""
    replace: str


class UnifiedDiff(FileModel):
    """Apply a diff as `run_git apply` does."""

    kind: Literal["diff"] = "diff"
    text: str = Field(min_length=1)


TextEdit: TypeAlias = Annotated[ReplaceText | UnifiedDiff, Field(discriminator="kind")]


class TextFix(FileModel):
    """A change of files, as answered by a model."""

    kind: Literal["text"] = "text"
    text: str
    """The complete answer."""
    edits: tuple[TextEdit, ...] = ()
    """Edits parsed from it; empty only if the applier reads the answer itself."""


class PatchFix(FileModel):
    """A change to a recorded mission."""

    kind: Literal["patch"] = "patch"
    patch: TracePatch
    reason: str = Field(min_length=1)
    """Why, for the reviewer."""


class NoFix(FileModel):
    """No fix was found."""

    kind: Literal["none"] = "none"
    reason: str = Field(min_length=1)


Proposal: TypeAlias = Annotated[TextFix | PatchFix | NoFix, Field(discriminator="kind")]
Fix: TypeAlias = TextFix | PatchFix
"""A proposal that can be applied."""
