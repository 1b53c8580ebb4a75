"""Why a replay diverged: one sentence for a person, the class of the cause, and the evidence."""

from __future__ import annotations

from typing import Literal, TypeAlias

from eikon_engine.trace.record import FileModel

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


class Evidence(FileModel):
    """One piece of evidence that a reader can check."""

    kind: EvidenceKind
    title: str
    text: str
    """The evidence itself, or the path of a file in the run folder."""


class Consequence(FileModel):
    """A later step that depends on the first step that diverged."""

    subgoal: str
    """Id of the subgoal attempt."""
    subgoal_id: str
    sequence: int
    label: str
    why: str
    diverged: bool = False
    """Whether the step was replayed and diverged; otherwise it is only expected to."""


class Explanation(FileModel):
    """An explanation of the first divergence of a replay and its consequences."""

    subgoal: str
    subgoal_id: str
    sequence: int
    code: str
    cause: Cause
    sentence: str
    """What happened and why, in one sentence for readers who do not know Eikon."""
    why: str
    """The evidence for the cause."""
    settle: str = ""
    """How to find the cause when it is unknown."""
    evidence: tuple[Evidence, ...] = ()
    consequences: tuple[Consequence, ...] = ()
