"""Targets that may match another element in a replay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.trace.target import identity_weakness

if TYPE_CHECKING:
    from eikon_engine.trace.execution import ActionTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class WeakTarget:
    """A target that may match another element, and why."""

    action: str
    """Action id."""
    selector: str
    reason: str

    def __str__(self) -> str:
        """Return the warning."""
        return f"{self.action}: the target {self.selector} is weak: {self.reason}"


def find_weak_targets(trace: ActionTrace) -> tuple[WeakTarget, ...]:
    """Return the targets of an action whose identity does not distinguish them from other elements."""
    found = []
    for target in (getattr(trace.action, name, None) for name in ("target", "to")):
        identity = getattr(target, "identity", None)
        reason = None if identity is None else identity_weakness(identity)
        if reason is not None:
            found.append(WeakTarget(action=trace.id, selector=str(target), reason=reason))
    return tuple(found)
