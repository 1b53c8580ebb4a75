"""An immutable table of skills by name."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from eikon_engine.errors import UnknownSkillError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.skills.protocol import Skill


@dataclass(frozen=True, slots=True)
class SkillRegistry:
    """Know skills by name; adding some gives a new registry and leaves this one as it is."""

    _skills: Mapping[str, Skill]

    @classmethod
    def of(cls, *skills: Skill) -> SkillRegistry:
        """Build a registry of exactly these skills.

        Raises:
            UsageError: two of them have the same name.
        """
        return cls(MappingProxyType({})).extended(*skills)

    def extended(self, *skills: Skill) -> SkillRegistry:
        """Return a new registry that knows these skills too.

        Raises:
            UsageError: a name is taken already.
        """
        known = dict(self._skills)
        for skill in skills:
            if skill.name in known:
                message = f"skill {skill.name!r} is registered twice; give one of the two another name"
                raise UsageError(message)
            known[skill.name] = skill
        return SkillRegistry(MappingProxyType(known))

    @property
    def names(self) -> tuple[str, ...]:
        """Sorted names of all known skills."""
        return tuple(sorted(self._skills))

    def named(self, name: str) -> Skill:
        """Return the skill of this name.

        Raises:
            UnknownSkillError: no skill has it; the message names the known ones and the nearest.
        """
        skill = self._skills.get(name)
        if skill is None:
            raise UnknownSkillError(self._unknown(name))
        return skill

    def __iter__(self) -> Iterator[Skill]:
        """Go through the skills in the order of their names."""
        return (self._skills[name] for name in self.names)

    def __len__(self) -> int:
        """Count the skills."""
        return len(self._skills)

    def _unknown(self, name: str) -> str:
        known = ", ".join(self.names) or "none"
        nearest = difflib.get_close_matches(name, self.names, n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else "register it, or correct the name"
        return f"unknown skill {name!r}; known skills: {known}; {hint}"
