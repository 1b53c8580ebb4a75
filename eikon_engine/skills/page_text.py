"""The text of a page as lines, for a language model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.skills.inline_text import text_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from selectolax.lexbor import LexborNode


def page_text(scopes: Iterable[LexborNode]) -> str:
    """Return the text of some elements, one line per block."""
    return "\n".join(run.text for scope in scopes for run in text_runs(scope))
