"""The subgoal attempt that is being recorded."""

from __future__ import annotations


class Attempt:
    """Count the steps of one attempt at one subgoal."""

    def __init__(self, *, subgoal_id: str, number: int) -> None:
        """Begin with no steps."""
        self.subgoal_id = subgoal_id
        self.number = number
        self._sequence = 0

    @property
    def id(self) -> str:
        """Return the id of the attempt, as in the older trace format."""
        return f"{self.subgoal_id}__attempt_{self.number}"

    def next_sequence(self) -> int:
        """Count one more step."""
        self._sequence += 1
        return self._sequence
