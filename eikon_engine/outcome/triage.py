"""Many failed replays, grouped by what caused them. Written by `eikon triage`; reports need nothing else."""

from __future__ import annotations

import hashlib
from typing import Final, Literal, TypeAlias

from pydantic import AwareDatetime

from eikon_engine.files.models import FileModel
from eikon_engine.outcome.divergence import Cause
from eikon_engine.outcome.outcomes import Verdict

TRIAGE_VERSION: Literal[1] = 1

UNKNOWN_GROUP: Final = "unknown"
"""Id of the group of the runs whose cause is unknown."""

Subject: TypeAlias = Literal["response", "request", "target", "page", "step", "skill", "environment", "run", "unknown"]
"""What a cause is about: a response, a request, the target of an action, a part of a page, what a step returned, a
skill, the environment, a whole run without a divergence; `unknown` if the explanation names no cause."""
Confidence: TypeAlias = Literal["high", "medium", "low"]
Recurrence: TypeAlias = Literal["new", "known", "back"]
"""Whether a cause was seen in earlier runs: never; in the last ones; or before a run that passed."""
SuggestionKind: TypeAlias = Literal["merge", "split"]


class CauseSignature(FileModel):
    """What the failures of a group have in common, without ids, times, counts and hosts."""

    cause: Cause
    kind: Subject
    subject: str
    """What changed: `GET /api/products/{id}: $.price`, `button 'Add to cart'`."""
    change: str
    """What became of it: `status 500`, `'Add to cart' -> 'Buy'`."""

    @property
    def id(self) -> str:
        """Return a short name that is the same in each triage: 8 hexadecimal digits of SHA-256."""
        text = f"{self.cause}\0{self.kind}\0{self.subject}\0{self.change}"
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def __str__(self) -> str:
        """Describe the signature in a line."""
        return f"{self.cause}: {': '.join(filter(None, (self.subject, self.change)))}"


class TriagedRun(FileModel):
    """One replay that is not faithful."""

    path: str
    """The outcome, as it was found."""
    mission_id: str
    verdict: Verdict
    subgoal: str
    """Id of the subgoal of the first divergence; empty without one."""
    step: str
    """Description of the first step that diverged, or the reason of the verdict."""
    sentence: str
    """The explanation in a sentence."""
    started_at: AwareDatetime
    consequences: int
    """Number of later steps that depend on the first one."""
    next_step: str = ""
    """What to do about it; empty if the cause is still to be found."""


class ValueCount(FileModel):
    """A value, and how many runs of a group have it."""

    value: str
    runs: int


class VaryingProperty(FileModel):
    """A property in which the runs of a group differ."""

    name: str
    values: tuple[ValueCount, ...]
    """The most frequent values, first those of most runs."""
    distinct: int
    """Number of different values."""


class SharedProperty(FileModel):
    """A property that all runs of a group have in common."""

    name: str
    value: str


class KnownCause(FileModel):
    """A cause that is known to the team, and who deals with it."""

    name: str
    owner: str = ""
    ticket: str = ""
    until: str = ""
    """Last day on which it is known, as `2026-12-31`; empty without an end."""


class CauseHistory(FileModel):
    """What is known about a cause from runs before those of the triage."""

    recurrence: Recurrence
    runs: int
    """Number of earlier runs that it stopped."""
    first_seen: AwareDatetime | None
    last_seen: AwareDatetime | None
    """None if it is new, as the other one."""


class TriageGroup(FileModel):
    """Failed replays with one cause."""

    id: str
    """That of the signature; `unknown` for the group of the runs whose cause is unknown."""
    signature: CauseSignature
    confidence: Confidence
    """How sure the cause is: high with a changed response or an element that was found again, low without evidence."""
    settle: str
    """What would settle the cause, if it is not sure."""
    representative: str
    """Path of the outcome to look at first."""
    runs: tuple[TriagedRun, ...]
    """In the order of their start."""
    missions: tuple[ValueCount, ...]
    subgoals: tuple[ValueCount, ...]
    first_seen: AwareDatetime
    last_seen: AwareDatetime
    share: float
    """Part of the missions in the triage that the cause stops, from 0 to 1."""
    consequences: int
    """Number of later steps that depend on the failed ones, in all runs."""
    shared: tuple[SharedProperty, ...]
    varying: tuple[VaryingProperty, ...]
    known: KnownCause | None = None
    history: CauseHistory | None = None
    """None without a history, and for the group of unknown causes."""


class TriageSuggestion(FileModel):
    """Groups that may be one cause, or a group that may be several. Shown, never done."""

    kind: SuggestionKind
    groups: tuple[str, ...]
    why: str


class UnreadableOutcome(FileModel):
    """A file that could not be read."""

    path: str
    why: str


class Triage(FileModel):
    """The groups, the largest first."""

    triage_version: Literal[1] = TRIAGE_VERSION
    outcomes: int
    """Number of outcomes that were read."""
    faithful: int
    missions: int
    """Number of different missions among them."""
    groups: tuple[TriageGroup, ...]
    suggestions: tuple[TriageSuggestion, ...] = ()
    unreadable: tuple[UnreadableOutcome, ...] = ()
    expired: tuple[KnownCause, ...] = ()
    """Known causes that would apply if they were not over."""


def triage_schema() -> dict[str, object]:
    """Return the schema of version 1 of a triage, in JSON Schema 2020-12."""
    from eikon_engine.trace.schema import build_schema  # noqa: PLC0415 - nothing else needs it

    return build_schema(
        Triage,
        schema_id=f"urn:eikon-engine:triage:{TRIAGE_VERSION}",
        title="Eikon triage",
        description="Failed replays, grouped by cause: `eikon triage --format json`. See docs/triage.md.",
    )
