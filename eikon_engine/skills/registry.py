"""A table of skills by name."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from eikon_engine.errors import SkillBrokenError, UnknownSkillError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.skills.installed import InstalledSkills
    from eikon_engine.skills.protocol import Skill


@dataclass(frozen=True, slots=True)
class SkillRegistry:
    """Know skills by name; adding some gives a new registry and leaves this one as it is."""

    _skills: Mapping[str, Skill]
    _installed: InstalledSkills | None = None
    """Where names that are not in the table are looked for."""

    @classmethod
    def of(cls, *skills: Skill, installed: InstalledSkills | None = None) -> SkillRegistry:
        """Build a registry of exactly these skills, and of those of installed distributions where they are given.

        Raises:
            UsageError: two of them have the same name.
        """
        return cls(MappingProxyType({}), installed).extended(*skills)

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
        return SkillRegistry(MappingProxyType(known), self._installed)

    @property
    def names(self) -> tuple[str, ...]:
        """Sorted names of all known skills, those that turn out to be broken included."""
        offered = () if self._installed is None else self._installed.offers
        return tuple(sorted({*self._skills, *offered} - {""}))

    @property
    def broken(self) -> tuple[str, ...]:
        """Say of each skill of an installed distribution that cannot be used why; imports all of them."""
        if self._installed is None:
            return ()
        found: list[str] = []
        for name, offers in self._installed.offers.items():
            if name in self._skills:
                among = " and ".join(offer.origin for offer in offers)
                found.append(
                    f"skill {name!r} of {among}: wanted a name of its own, found one that is taken; "
                    f"{name!r} stays what it was, rename the other"
                )
                continue
            try:
                self._installed.load(name)
            except SkillBrokenError as error:
                found.append(error.message)
        return tuple(found)

    def named(self, name: str) -> Skill:
        """Return the skill of this name.

        Raises:
            UnknownSkillError: no skill has it; the message names the known ones and the nearest.
            SkillBrokenError: an installed distribution offers it, and it cannot be used.
        """
        skill = self._skills.get(name)
        if skill is not None:
            return skill
        if name and self._installed is not None and name in self._installed.offers:
            return self._installed.load(name)
        raise UnknownSkillError(self._unknown(name))

    def __iter__(self) -> Iterator[Skill]:
        """Go through the skills that can be used, in the order of their names; `broken` tells of the others."""
        for name in self.names:
            try:
                skill = self.named(name)
            except SkillBrokenError:
                continue
            yield skill

    def __len__(self) -> int:
        """Count the names."""
        return len(self.names)

    def _unknown(self, name: str) -> str:
        known = ", ".join(self.names) or "none"
        nearest = difflib.get_close_matches(name, self.names, n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else "register it, or correct the name"
        return f"unknown skill {name!r}; known skills: {known}; {hint}"
