"""`system:get_context`: find the code relevant to a failure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.fix.context import ContextPiece
from eikon_engine.fix.hidden import hide_tokens
from eikon_engine.fix.memory.budget import fit_budget
from eikon_engine.fix.memory.chunks import split_chunks
from eikon_engine.fix.memory.evidence import replay_evidence
from eikon_engine.fix.memory.lately import recently_changed_files
from eikon_engine.fix.memory.likeness import bm25_scores
from eikon_engine.fix.memory.signals import Signals, mentioned_paths
from eikon_engine.fix.memory.source_files import source_files
from eikon_engine.fix.memory.used_names import find_used_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.fix.context import Context
    from eikon_engine.fix.failure import Analysis
    from eikon_engine.fix.memory.chunks import Chunk
    from eikon_engine.fix.step_values import ContextQuery

MAX_PIECES: Final = 40
MIN_SCORE: Final = 8.0
"""Pieces below it have only some words in common with the failure."""


@dataclass(frozen=True, slots=True)
class ContextFinder:
    """Find code by failure location, targets, references, recent changes and common words.

    Nothing is cached between queries: the files may have changed.
    """

    max_pieces: int = MAX_PIECES

    def find(self, query: ContextQuery) -> Context:
        """Return the pieces relevant to a failure, most relevant first, within the token budget.

        Raises:
            GitMissingError: a history is given and git is not installed.
        """
        first = query.analysis.first
        texts = source_files(query.tree)
        by_file = {file: split_chunks(file, text) for file, text in texts.items()}
        signals = Signals(
            analysis=query.analysis,
            targets=query.targets,
            recently_changed=recently_changed_files(query.history),
            used=find_used_names(first, by_file),
            mentioned=mentioned_paths(first),
        )
        every = tuple(chunk for each in by_file.values() for chunk in each)
        alike = bm25_scores(_query_text(query.analysis), [chunk.text for chunk in every])
        found = [
            piece for chunk, share in zip(every, alike, strict=True) for piece in _scored_piece(chunk, share, signals)
        ]
        ranked = sorted(
            (*found, *replay_evidence(query.analysis, query.tree)),
            key=lambda each: (-each.score, each.file, each.first_line),
        )
        return fit_budget(ranked[: self.max_pieces], query.token_budget, None if first is None else first.line)


def _query_text(analysis: Analysis) -> str:
    first = analysis.first
    return "" if first is None else f"{first.id}\n{first.message}\n{first.excerpt}"


def _scored_piece(chunk: Chunk, alike: float, signals: Signals) -> Iterator[ContextPiece]:
    reasons = tuple(signals.reasons(chunk, alike))
    score = round(sum(each.weight for each in reasons), 3)
    if score >= MIN_SCORE and chunk.text.strip():
        yield ContextPiece(
            file=chunk.file,
            first_line=chunk.first,
            last_line=chunk.last,
            text=hide_tokens(chunk.text),
            score=score,
            why="; ".join(each.why for each in reasons),
        )
