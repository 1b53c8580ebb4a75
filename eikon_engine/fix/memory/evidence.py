"""Evidence of a diverged replay, as pieces beside the code."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from eikon_engine.fix.analysis.shorten import shorten
from eikon_engine.fix.context import ContextPiece
from eikon_engine.fix.hidden import hide_tokens
from eikon_engine.fix.memory.source_files import read_source
from eikon_engine.outcome.outcomes import ReplayOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from eikon_engine.fix.failure import Analysis

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
        outcome = ReplayOutcome.model_validate_json((tree / failure.file).read_bytes())
    except (OSError, ValidationError):
        return
    folder = PurePosixPath(failure.file).parent
    steps = (step for subgoal in outcome.subgoals for step in subgoal.steps if step.divergences)
    for path in dict.fromkeys(artifact.path for step in steps for artifact in step.artifacts):
        text = (
            read_source(tree, (folder / path).as_posix())
            if path.endswith(_TEXT_SUFFIXES) and ".." not in path
            else None
        )
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
