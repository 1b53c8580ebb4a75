"""A skill of an installed distribution, checked against its declared models."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from eikon_engine.errors import EikonError, SkillError, TraceFieldError
from eikon_engine.trace.json_value import canonical_json

if TYPE_CHECKING:
    from eikon_engine.skills.protocol import Skill, SkillInput
    from eikon_engine.trace.json_value import JsonValue


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
