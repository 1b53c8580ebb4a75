"""Why a replay diverged: one sentence for a person, the class of the cause, and the evidence."""

from __future__ import annotations

from typing import Literal, TypeAlias

from eikon_engine.trace.record import Record

Cause: TypeAlias = Literal[
    "site-changed",
    "site-error",
    "network",
    "timing",
    "session-expired",
    "test-data",
    "environment",
    "skill-changed",
    "trace-invalid",
    "unknown",
]
"""Classes of causes; `docs/causes.md` has a section for each."""

EvidenceKind: TypeAlias = Literal["values", "difference", "answer", "console", "candidate", "file"]


class Evidence(Record):
    """Something that a person can check."""

    kind: EvidenceKind
    title: str
    text: str
    """What it says, or the path of the file in the folder of the run."""


class Consequence(Record):
    """A later step that depends on what diverged first."""

    subgoal: str
    """Id of the subgoal attempt."""
    subgoal_id: str
    sequence: int
    label: str
    why: str
    diverged: bool = False
    """Whether it was replayed and diverged; else it is only expected to."""


class Explanation(Record):
    """The first divergence of a replay, explained; everything else that diverged is told from there."""

    subgoal: str
    subgoal_id: str
    sequence: int
    code: str
    cause: Cause
    sentence: str
    """What happened and why, in words that need no knowledge of this program."""
    why: str
    """What the class of the cause follows from."""
    settle: str = ""
    """What would tell, where the cause is unknown."""
    evidence: tuple[Evidence, ...] = ()
    consequences: tuple[Consequence, ...] = ()
