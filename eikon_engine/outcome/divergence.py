"""A divergence: at this action, in this layer, one thing was expected and another observed."""

from __future__ import annotations

from typing import Literal, TypeAlias

from eikon_engine.trace.record import Record

Layer: TypeAlias = Literal["environment", "network", "lifecycle", "target", "result", "value", "dom", "skill"]
"""What is compared; `eikon_engine.divergence.detect` says in which order one leads to the next."""


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
    because: tuple[str, ...] = ()
    """Changes of live answers that explain the finding, likeliest first; only where answers can be compared."""
