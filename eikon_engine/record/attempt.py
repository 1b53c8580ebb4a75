"""One recorded attempt at a subgoal."""

from __future__ import annotations


class Attempt:
    """One attempt at a subgoal; numbers its steps."""

    def __init__(self, *, subgoal_id: str, number: int) -> None:
        """Start without steps."""
        self.subgoal_id = subgoal_id
        self.number = number
        self._sequence = 0

    @property
    def id(self) -> str:
        """Return the id of the attempt, in the same form as in trace format 1."""
        return f"{self.subgoal_id}__attempt_{self.number}"

    def next_sequence(self) -> int:
        """Return the next step number, from 1."""
        self._sequence += 1
        return self._sequence
