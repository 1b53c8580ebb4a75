"""`system:get_context`: find the code relevant to a failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.context import ContextPiece
from eikon_engine.fix.hidden import without_tokens
from eikon_engine.fix.memory.budget import within
from eikon_engine.fix.memory.chunks import chunks
from eikon_engine.fix.memory.evidence import evidence
from eikon_engine.fix.memory.lately import changed_lately
from eikon_engine.fix.memory.likeness import likeness
from eikon_engine.fix.memory.signals import Signals, paths_named
from eikon_engine.fix.memory.source_files import source_files
from eikon_engine.fix.memory.used_names import used_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.fix.context import Context
    from eikon_engine.fix.failure import Analysis
    from eikon_engine.fix.memory.chunks import Chunk
    from eikon_engine.fix.step_values import ContextQuery

MOST_PIECES: Final = 40
LOWEST_SCORE: Final = 8.0
"""Pieces below it have only some words in common with the failure."""


@dataclass(frozen=True, slots=True)
class MemorySystem:
    """Find code by failure location, targets, references, recent changes and common words.

    Nothing is cached between queries: the files may have changed.
    """

    most_pieces: int = MOST_PIECES

    def look_up(self, query: ContextQuery) -> Context:
        """Return the pieces relevant to a failure, most relevant first, within the token budget.

        Raises:
            GitMissingError: a history is given and git is not installed.
        """
        first = query.analysis.first
        texts = source_files(query.tree)
        by_file = {file: chunks(file, text) for file, text in texts.items()}
        signals = Signals(
            analysis=query.analysis,
            targets=query.targets,
            lately=changed_lately(query.history),
            used=used_names(first, by_file),
            named=paths_named(first),
        )
        every = tuple(chunk for each in by_file.values() for chunk in each)
        alike = likeness(_question(query.analysis), [chunk.text for chunk in every])
        found = [piece for chunk, share in zip(every, alike, strict=True) for piece in _piece(chunk, share, signals)]
        ranked = sorted(
            (*found, *evidence(query.analysis, query.tree)), key=lambda each: (-each.score, each.file, each.first_line)
        )
        return within(ranked[: self.most_pieces], query.token_budget, None if first is None else first.line)


def _question(analysis: Analysis) -> str:
    first = analysis.first
    return "" if first is None else f"{first.id}\n{first.message}\n{first.excerpt}"


def _piece(chunk: Chunk, alike: float, signals: Signals) -> Iterator[ContextPiece]:
    reasons = tuple(signals.reasons(chunk, alike))
    score = round(sum(each.weight for each in reasons), 3)
    if score >= LOWEST_SCORE and chunk.text.strip():
        yield ContextPiece(
            file=chunk.file,
            first_line=chunk.first,
            last_line=chunk.last,
            text=without_tokens(chunk.text),
            score=score,
            why="; ".join(each.why for each in reasons),
        )
