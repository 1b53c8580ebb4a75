"""An immutable registry of skills by name, and the default one with all built-in skills."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from eikon_engine.errors import RequirementError, SkillBrokenError, UsageError
from eikon_engine.skills.ask_page import AskPage
from eikon_engine.skills.detect_login_form import DetectLoginForm
from eikon_engine.skills.detect_page_intent import DetectPageIntent
from eikon_engine.skills.detect_pagination import DetectPagination
from eikon_engine.skills.extract_article import ExtractArticle
from eikon_engine.skills.extract_dates import ExtractDates
from eikon_engine.skills.extract_forms import ExtractForms
from eikon_engine.skills.extract_links import ExtractLinks
from eikon_engine.skills.extract_listing import ExtractListing
from eikon_engine.skills.extract_metadata import ExtractMetadata
from eikon_engine.skills.extract_prices import ExtractPrices
from eikon_engine.skills.extract_table import ExtractTable
from eikon_engine.skills.installed_skills import SkillEntryPoints

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.skills.skill import Skill


@dataclass(frozen=True, slots=True)
class SkillRegistry:
    """Skills by name. Immutable: `extended` returns a new registry."""

    _skills: Mapping[str, Skill]
    _installed: SkillEntryPoints | None = None
    """Fallback for names that are not in the table."""

    @classmethod
    def of(cls, *skills: Skill, installed: SkillEntryPoints | None = None) -> SkillRegistry:
        """Build a registry of these skills, and of `installed` ones if given.

        Raises:
            UsageError: two of them have the same name.
        """
        return cls(MappingProxyType({}), installed).extended(*skills)

    def extended(self, *skills: Skill) -> SkillRegistry:
        """Return a new registry with additional skills.

        Raises:
            UsageError: a name is already registered.
        """
        known = dict(self._skills)
        for skill in skills:
            if skill.name in known:
                message = f"skill {skill.name!r} is registered twice. Rename one of the two."
                raise UsageError(message)
            known[skill.name] = skill
        return SkillRegistry(MappingProxyType(known), self._installed)

    @property
    def names(self) -> tuple[str, ...]:
        """Sorted names of all known skills, including broken ones."""
        offered = () if self._installed is None else self._installed.by_name
        return tuple(sorted({*self._skills, *offered} - {""}))

    @property
    def errors(self) -> tuple[str, ...]:
        """One message for each installed skill that cannot be used; imports all of them."""
        if self._installed is None:
            return ()
        found: list[str] = []
        for name, offers in self._installed.by_name.items():
            if name in self._skills:
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
        skill = self._skills.get(name)
        if skill is not None:
            return skill
        if name and self._installed is not None and name in self._installed.by_name:
            return self._installed.load(name)
        raise RequirementError(self._unknown_message(name), code="unknown-skill")

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


BUILT_IN_SKILLS = (
    AskPage(),
    DetectLoginForm(),
    DetectPageIntent(),
    DetectPagination(),
    ExtractArticle(),
    ExtractDates(),
    ExtractForms(),
    ExtractLinks(),
    ExtractListing(),
    ExtractMetadata(),
    ExtractPrices(),
    ExtractTable(),
)


def default_skills() -> SkillRegistry:
    """Return a registry of the built-in skills; skills of installed distributions are imported on first use."""
    return SkillRegistry.of(*BUILT_IN_SKILLS, installed=SkillEntryPoints())
