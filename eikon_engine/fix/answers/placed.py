"""Edits with their position in an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.fix.proposal import TextEdit


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedEdit:
    """An edit, and the lines of the answer that it was read from."""

    edit: TextEdit
    first: int
    end: int
    """Exclusive."""
