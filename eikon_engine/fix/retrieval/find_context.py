"""`system:get_context`: find the code relevant to a failure, within a token budget."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.files.limits import read_document
from eikon_engine.fix.analysis.normalize import shorten
from eikon_engine.fix.models import Context, ContextPiece
from eikon_engine.fix.retrieval.chunks import lines_of, split_chunks
from eikon_engine.fix.retrieval.ranking import Signals, bm25_scores, find_used_names, mentioned_paths
from eikon_engine.fix.retrieval.source_files import read_source, recently_changed_files, source_files
from eikon_engine.outcome.outcomes import ReplayOutcome
from eikon_engine.secrets.environment import hide_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from eikon_engine.fix.models import Analysis, ContextQuery
    from eikon_engine.fix.retrieval.chunks import Chunk

BYTES_PER_TOKEN: Final = 3
"""Code has 3 to 4 UTF-8 bytes per token; the lower bound is the safe one."""
HEADER_TOKENS: Final = 20
"""Overhead of a piece's header."""


def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN) + HEADER_TOKENS


def fit_budget(pieces: Sequence[ContextPiece], budget: int, around: int | None) -> Context:
    """Select whole pieces in order while they fit; `left_out` counts the others.

    The first piece is cut to the lines around `around` if it alone exceeds the budget.
    """
    taken: list[ContextPiece] = []
    tokens = 0
    for number, piece in enumerate(pieces):
        fitting = _cut_piece(piece, budget, around) if number == 0 else piece
        cost = estimate_tokens(fitting.text)
        if tokens + cost <= budget:
            taken.append(fitting)
            tokens += cost
    return Context(pieces=tuple(taken), tokens=tokens, left_out=len(pieces) - len(taken))


def _cut_piece(piece: ContextPiece, budget: int, around: int | None) -> ContextPiece:
    """Drop lines from both ends of a piece, keeping the middle, until it fits."""
    lines = lines_of(piece.text)
    middle = min(max((around or piece.first_line) - piece.first_line, 0), len(lines) - 1)
    first, end = 0, len(lines)
    while end - first > 1 and estimate_tokens("".join(lines[first:end])) > budget:
        if middle - first >= end - 1 - middle:
            first += 1
        else:
            end -= 1
    return piece.model_copy(
        update={
            "text": "".join(lines[first:end]),
            "first_line": piece.first_line + first,
            "last_line": piece.first_line + end - 1,
        }
    )


EVIDENCE_SCORE: Final = 90.0
EVIDENCE_LINES: Final = 120
_TEXT_SUFFIXES: Final = (".txt", ".json")


def replay_evidence(analysis: Analysis, tree: Path) -> Iterator[ContextPiece]:
    """Yield the outcome of the first failed replay, unless it is the first failure, and its text artifacts.

    Artifacts are those of the diverged steps: diffs, outputs of skills.
    """
    failure = next((each for each in analysis.failures if each.kind == "eikon"), None)
    if failure is None or failure.file is None:
        return
    if failure is not analysis.first:
        yield _evidence_piece(failure.file, failure.excerpt, "outcome of a replay")
    try:
        outcome = ReplayOutcome.model_validate_json(read_document(tree / failure.file, root=tree))
    except (OSError, ValidationError):
        return
    folder = PurePosixPath(failure.file).parent
    steps = (step for subgoal in outcome.subgoals for step in subgoal.steps if step.divergences)
    for path in dict.fromkeys(artifact.path for step in steps for artifact in step.artifacts):
        text = read_source(tree, (folder / path).as_posix()) if path.endswith(_TEXT_SUFFIXES) else None
        if text:
            yield _evidence_piece((folder / path).as_posix(), text, "evidence of the divergence")


def _evidence_piece(file: str, text: str, why: str) -> ContextPiece:
    return ContextPiece(
        file=file,
        first_line=1,
        last_line=text.count("\n") + 1,
        text=hide_tokens(shorten(text, EVIDENCE_LINES)) + "\n",
        score=EVIDENCE_SCORE,
        why=why,
    )


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
            RequirementError: a history is given and git is not installed.
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
