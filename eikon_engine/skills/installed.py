"""Skills of installed distributions: the entry-point group `eikon_engine.skills`.

Discovery reads metadata only; a module is imported when its skill is requested.
https://packaging.python.org/en/latest/specifications/entry-points/
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from eikon_engine.errors import SkillBrokenError
from eikon_engine.skills.foreign_skill import InstalledSkill, find_skill_defect

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.skills.protocol import Skill

GROUP: Final = "eikon_engine.skills"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillEntryPoint:
    """One entry point of the group and its distribution."""

    name: str
    entry_point: metadata.EntryPoint | None
    """None if the entry points of the distribution cannot be read."""
    origin: str
    """Name and version of the distribution."""


class SkillEntryPoints:
    """The entry points of installed skills, imported on demand."""

    @cached_property
    def by_name(self) -> Mapping[str, tuple[SkillEntryPoint, ...]]:
        """Return the entry points of all distributions by name; a name must be unique to be loaded."""
        found: dict[str, tuple[SkillEntryPoint, ...]] = {}
        for offer in sorted(_discover(), key=lambda each: (each.name, each.origin)):
            found[offer.name] = (*found.get(offer.name, ()), offer)
        return MappingProxyType(found)

    @cached_property
    def _loaded(self) -> dict[str, InstalledSkill]:
        return {}

    def load(self, name: str) -> InstalledSkill:
        """Import the skill of this name.

        Raises:
            SkillBrokenError: two distributions provide it, it cannot be imported, or it is no valid skill.
        """
        if name not in self._loaded:
            self._loaded[name] = _load(name, self.by_name[name])
        return self._loaded[name]


def _discover() -> Iterator[SkillEntryPoint]:
    for distribution in metadata.distributions():
        if GROUP not in (distribution.read_text("entry_points.txt") or "") or _is_shadowed(distribution):
            continue
        origin = f"{distribution.name} {distribution.version}"
        try:
            entries = [entry for entry in distribution.entry_points if entry.group == GROUP]
        except (TypeError, ValueError):
            entries = []
            yield SkillEntryPoint(name="", entry_point=None, origin=origin)
        for entry in entries:
            yield SkillEntryPoint(name=entry.name, entry_point=entry, origin=origin)


def _is_shadowed(distribution: metadata.Distribution) -> bool:
    """Whether another version of the distribution precedes this one on the path and shadows it."""
    first = metadata.distribution(distribution.name)
    return first.locate_file("") != distribution.locate_file("")


def _load(name: str, candidates: tuple[SkillEntryPoint, ...]) -> InstalledSkill:
    if len(candidates) > 1:
        among = " and ".join(offer.origin for offer in candidates)
        message = f"skill {name!r} is provided by several distributions: {among}. Uninstall all but one."
        raise SkillBrokenError(message)
    (offer,) = candidates
    if offer.entry_point is None:
        message = f"{offer.origin}: its entry points for skills cannot be read. Reinstall it."
        raise SkillBrokenError(message)
    skill = _import(offer, offer.entry_point)
    missing = find_skill_defect(skill, name)
    if missing is not None:
        message = (
            f"skill {name!r} of {offer.origin} ({offer.entry_point.value}): {missing}. Update or remove {offer.origin}."
        )
        raise SkillBrokenError(message)
    return InstalledSkill(cast("Skill", skill), offer.origin)


def _import(offer: SkillEntryPoint, entry: metadata.EntryPoint) -> object:
    """Import an entry point; a class is instantiated without arguments."""
    try:
        found = entry.load()
        return found() if isinstance(found, type) else found
    except (Exception, SystemExit) as fault:  # importing runs third-party code
        reason = " ".join(f"{type(fault).__name__}: {fault}".split())
        message = (
            f"skill {offer.name!r} of {offer.origin} ({entry.value}) cannot be imported: {reason}. "
            f"Update or remove {offer.origin}."
        )
        raise SkillBrokenError(message) from fault
