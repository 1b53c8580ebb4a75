"""A divergence: the difference found at one step, in one layer, between the recording and the replay."""

from __future__ import annotations

from typing import Literal, TypeAlias

from eikon_engine.trace.record import FileModel

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
"""What is compared. `eikon_engine.divergence.detect_divergences` defines the causal order of the layers."""
Severity: TypeAlias = Literal["divergence", "finding"]


class PropertyMatch(FileModel):
    """One property of a recorded element, compared with the same property of a candidate."""

    name: str
    """`tag`, `role`, `name`, `text`, `ancestors`, `ordinal`, or `attribute …`."""
    recorded: str
    observed: str
    likeness: float
    """Similarity from 0 (nothing in common) to 1 (equal)."""


class Candidate(FileModel):
    """An element that may be the recorded one after a change. Shown in reports, never acted upon."""

    frame: str
    """Frame path; empty for the main frame."""
    path: str
    description: str
    """Tag and accessible name or text."""
    score: float
    """Weighted similarity to the recorded element, from 0 to 1."""
    agreements: tuple[PropertyMatch, ...]

    def __str__(self) -> str:
        """Describe the element, its location, and the properties that differ."""
        differences = [
            f"{each.name}: recorded {each.recorded!r}, now {each.observed!r}"
            for each in self.agreements
            if each.recorded != each.observed
        ]
        frame = f"frame {self.frame}: " if self.frame else ""
        differs = f"; {'; '.join(differences)}" if differences else ""
        return f"{self.description} at {frame}{self.path}, score {self.score:.2f}{differs}"


class Divergence(FileModel):
    """One difference. `docs/divergences.md` has a section for each `code`."""

    code: str
    layer: Layer
    subgoal: str
    """Id of the subgoal attempt."""
    subgoal_id: str
    sequence: int
    expected: str
    observed: str
    message: str
    """One sentence that explains the difference."""
    detail: str = ""
    """Longer evidence, such as a diff; may have several lines."""
    severity: Severity = "divergence"
    """A `finding` neither stops a run nor changes a verdict. Only the policy `effects` creates findings."""
    candidates: tuple[Candidate, ...] | None = None
    """Elements similar to the missing target, best first. Empty if none is similar; None if no target was lost."""
    because: tuple[str, ...] = ()
    """Changed live responses that explain the divergence, most likely first. Only where responses are compared."""
