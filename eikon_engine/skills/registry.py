"""An immutable registry of skills by name, and the default one with all built-in skills."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from eikon_engine.errors import RequirementError, SkillBrokenError, UsageError
from eikon_engine.skills.installed_skills import SkillEntryPoints

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eikon_engine.skills.skill import Skill


@dataclass(frozen=True, slots=True)
class SkillRegistry:
    """Skills by name. Immutable: `extended` returns a new registry."""

    _tables: tuple[Mapping[str, Skill], ...]
    """Skills by name; no name is in two of them."""
    _installed: SkillEntryPoints | None = None
    """Fallback for names that are not in the table."""

    @classmethod
    def of(cls, *skills: Skill, installed: SkillEntryPoints | None = None) -> SkillRegistry:
        """Build a registry of these skills, and of `installed` ones if given.

        Raises:
            UsageError: two of them have the same name.
        """
        return cls((), installed).extended(*skills)

    def extended(self, *skills: Skill) -> SkillRegistry:
        """Return a new registry with additional skills.

        Raises:
            UsageError: a name is already registered.
        """
        added: dict[str, Skill] = {}
        for skill in skills:
            if any(skill.name in table for table in (*self._tables, added)):
                message = f"skill {skill.name!r} is registered twice. Rename one of the two."
                raise UsageError(message)
            added[skill.name] = skill
        return SkillRegistry((*self._tables, MappingProxyType(added)), self._installed)

    @property
    def names(self) -> tuple[str, ...]:
        """Sorted names of all known skills, including broken ones."""
        offered = () if self._installed is None else self._installed.by_name
        return tuple(sorted({*chain.from_iterable(self._tables), *offered} - {""}))

    @property
    def errors(self) -> tuple[str, ...]:
        """One message for each installed skill that cannot be used; imports all of them."""
        if self._installed is None:
            return ()
        found: list[str] = []
        for name, offers in self._installed.by_name.items():
            if any(name in table for table in self._tables):
                among = " and ".join(offer.origin for offer in offers)
                found.append(
                    f"skill {name!r} of {among}: the name is already registered and keeps its meaning. "
                    "Rename the installed skill."
                )
                continue
            try:
                self._installed.load(name)
            except SkillBrokenError as error:
                found.append(error.message)
        return tuple(found)

    def get(self, name: str) -> Skill:
        """Return the skill of this name.

        Raises:
            RequirementError: no skill has this name; the message lists the known names and the closest match.
            SkillBrokenError: the installed skill of this name cannot be used.
        """
        for table in self._tables:
            if name in table:
                return table[name]
        if name and self._installed is not None and name in self._installed.by_name:
            return self._installed.load(name)
        raise RequirementError(self._unknown_message(name), code="unknown-skill")

    def has(self, name: str) -> bool:
        """Return whether a skill has this name, usable or not."""
        return name in self.names

    def __iter__(self) -> Iterator[Skill]:
        """Iterate over the usable skills in order of their names; `broken` reports the others."""
        for name in self.names:
            try:
                skill = self.get(name)
            except SkillBrokenError:
                continue
            yield skill

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self.names)

    def _unknown_message(self, name: str) -> str:
        known = ", ".join(self.names) or "none"
        nearest = difflib.get_close_matches(name, self.names, n=1)
        hint = f"did you mean {nearest[0]}?" if nearest else "register it or correct the name"
        return f"unknown skill {name!r}. Known skills: {known}; {hint}"


BUILT_IN_SKILLS: Final = (
    "ask_page",
    "detect_login_form",
    "detect_page_intent",
    "detect_pagination",
    "extract_article",
    "extract_dates",
    "extract_forms",
    "extract_links",
    "extract_listing",
    "extract_metadata",
    "extract_prices",
    "extract_table",
)
"""Each has the module of its name, whose class has that name in camel case."""


class _BuiltInSkills(Mapping[str, "Skill"]):
    """The built-in skills by name; each is imported on first use."""

    def __getitem__(self, name: str) -> Skill:
        if name not in BUILT_IN_SKILLS:
            raise KeyError(name)
        return _built_in_skill(name)

    def __iter__(self) -> Iterator[str]:
        return iter(BUILT_IN_SKILLS)

    def __len__(self) -> int:
        return len(BUILT_IN_SKILLS)


@cache
def _built_in_skill(name: str) -> Skill:
    module = import_module(f"eikon_engine.skills.{name}")
    skill: Skill = getattr(module, name.title().replace("_", ""))()
    return skill


def default_skills() -> SkillRegistry:
    """Return a registry of the built-in skills and those of installed distributions; each is imported on first use."""
    return SkillRegistry((_BuiltInSkills(),), SkillEntryPoints())
