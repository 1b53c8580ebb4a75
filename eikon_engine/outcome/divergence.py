"""A divergence: at this action, in this layer, one thing was expected and another observed."""

from __future__ import annotations

from typing import Literal, TypeAlias

from eikon_engine.trace.record import Record

Layer: TypeAlias = Literal[
    "environment",
    "network",
    "lifecycle",
    "target",
    "result",
    "value",
    "dom",
    "storage",
    "accessibility",
    "pixels",
    "skill",
]
"""What is compared; `eikon_engine.divergence.detect` says in which order one leads to the next."""
Severity: TypeAlias = Literal["divergence", "finding"]


class Agreement(Record):
    """One property of a recorded element, beside that of another one."""

    name: str
    """`tag`, `role`, `name`, `text`, `ancestors`, `ordinal`, or `attribute …`."""
    recorded: str
    observed: str
    likeness: float
    """From 0, nothing in common, to 1, equal."""


class Candidate(Record):
    """An element that may be what became of a recorded one: shown to people, never acted upon."""

    frame: str
    """Path of its frame, empty for the main one."""
    path: str
    description: str
    """Its tag and what a person calls it."""
    score: float
    """From 0 to 1: how much of what is known of the recorded element agrees."""
    agreements: tuple[Agreement, ...]

    def __str__(self) -> str:
        """Read as what it is, where, and in which properties it is another one."""
        differences = [
            f"{each.name} {each.observed!r}, recorded {each.recorded!r}"
            for each in self.agreements
            if each.recorded != each.observed
        ]
        frame = f"frame {self.frame}: " if self.frame else ""
        differs = f"; differs in {'; '.join(differences)}" if differences else ""
        return f"{self.description} at {frame}{self.path}, score {self.score:.2f}{differs}"


class Divergence(Record):
    """One finding. Each `code` has its section in `docs/divergences.md`."""

    code: str
    layer: Layer
    subgoal: str
    """Id of the subgoal attempt."""
    subgoal_id: str
    sequence: int
    expected: str
    observed: str
    message: str
    """One sentence for a person."""
    detail: str = ""
    """Longer evidence as text, such as a diff; may span lines."""
    severity: Severity = "divergence"
    """A `finding` ends no run and changes no verdict; only a policy makes one."""
    candidates: tuple[Candidate, ...] | None = None
    """Elements like the one that was wanted, likeliest first; empty if none is, None if none was wanted."""
    because: tuple[str, ...] = ()
    """Changes of live answers that explain the finding, likeliest first; only where answers can be compared."""
