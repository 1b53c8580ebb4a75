"""A divergence: the difference found at one step, in one layer, and the explanation of the first one."""

from typing import Final, Literal, TypeAlias

from eikon_engine.files.models import FileModel

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
DivergenceFlag: TypeAlias = Literal["REPLAY_DIVERGENCE"]
"""The word by which a divergence is found in every output."""
DIVERGENCE_FLAG: Final[DivergenceFlag] = "REPLAY_DIVERGENCE"
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
    """A `finding` neither stops a run nor changes a verdict: what the policy `effects` lists as also changed, and pages
    of live replays that were late."""
    candidates: tuple[Candidate, ...] | None = None
    """Elements similar to the missing target, best first. Empty if none is similar; None if no target was lost."""
    because: tuple[str, ...] = ()
    """Changed live responses that explain the divergence, most likely first. Only where responses are compared."""

    @property
    def content(self) -> tuple[str, ...]:
        """Return what is the same at each step that repeats a finding."""
        return self.code, self.expected, self.observed, self.detail


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

Refusal: TypeAlias = Literal["sign-in", "address"]
"""What a site refused: to sign in, or to serve an address that it does not have."""

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
    refusal: Refusal | None = None
    """What the site refused; None if the cause is no refusal."""
    evidence: tuple[Evidence, ...] = ()
    consequences: tuple[Consequence, ...] = ()
