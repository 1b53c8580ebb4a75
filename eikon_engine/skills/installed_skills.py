"""Skills of installed distributions: the entry-point group `eikon_engine.skills`.

Discovery reads metadata only; a module is imported when its skill is requested. A third-party skill is checked against
its declared models. https://packaging.python.org/en/latest/specifications/entry-points/
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from pydantic import BaseModel, ValidationError

from eikon_engine.errors import EikonError, SkillBrokenError, SkillError, TraceFieldError
from eikon_engine.files.json_text import canonical_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from eikon_engine.files.json_text import JsonValue
    from eikon_engine.skills.skill import Skill, SkillInput


class InstalledSkill:
    """A third-party skill: its exceptions become `SkillError`, its output is validated against its model."""

    def __init__(self, skill: Skill, origin: str) -> None:
        """Wrap a skill; `origin` is the name and version of its distribution."""
        self._skill = skill
        self.origin = origin
        self.name = skill.name
        self.version = skill.version
        self.description = skill.description
        self.parameters = skill.parameters
        self.output = skill.output
        self.example: SkillInput | None = getattr(skill, "example", None)

    def run(self, page: SkillInput) -> JsonValue:
        """Run the skill and validate its output.

        Raises:
            SkillError: the skill raised any exception, or its output does not match its model.
        """
        try:
            output = self._skill.run(page)
        except EikonError:
            raise
        except (Exception, SystemExit) as fault:  # third-party code: its failure must not end the mission
            message = (
                f"{self.name}: the skill of {self.origin} raised {type(fault).__name__}: {fault} "
                f"({_location(fault)}). Report this to its authors."
            )
            raise SkillError(message) from fault
        return self._validate(output)

    def _validate(self, output: JsonValue) -> JsonValue:
        try:
            self.output.model_validate_json(canonical_json(output).encode())
        except (TraceFieldError, UnicodeEncodeError, ValidationError) as error:
            message = (
                f"{self.name}: the output of the skill of {self.origin} does not match its model "
                f"{self.output.__name__}: {_first_line(error)}. Report this to its authors."
            )
            raise SkillError(message) from error
        return output


def find_skill_defect(skill: object, entry_name: str) -> str | None:
    """Return why an object is not a skill of this name, or None if it is."""
    name, version = getattr(skill, "name", None), getattr(skill, "version", None)
    description = getattr(skill, "description", None)
    if name != entry_name:
        return f"expected the name {entry_name!r} of its entry point, got {name!r}"
    if type(version) is not int or version < 1:
        return f"expected a positive integer as its version, got {version!r}"
    if not isinstance(description, str) or not description.strip() or "\n" in description:
        return f"expected a one-line description, got {description!r}"
    for part in ("parameters", "output"):
        model = getattr(skill, part, None)
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return f"expected a pydantic model as its {part}, got {model!r}"
    return None if callable(getattr(skill, "run", None)) else "it has no method `run`"


def _location(fault: BaseException) -> str:
    last = traceback.extract_tb(fault.__traceback__)[-1]
    return f"{last.name}, line {last.lineno}"


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'top level'}: {first['msg']}"
    return str(error)


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
