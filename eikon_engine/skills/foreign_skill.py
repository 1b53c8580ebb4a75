"""A skill of an installed distribution, kept to what it says of itself."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

from pydantic import BaseModel, ValidationError

from eikon_engine.errors import EikonError, SkillError, TraceFieldError
from eikon_engine.trace.json_value import canonical_json

if TYPE_CHECKING:
    from eikon_engine.skills.protocol import Skill, SkillInput
    from eikon_engine.trace.json_value import JsonValue


class ForeignSkill:
    """Run somebody else's skill: what it raises is a `SkillError`, what it returns is held against its model."""

    def __init__(self, skill: Skill, origin: str) -> None:
        """Keep a skill whose parts have been checked; `origin` names its distribution and version."""
        self._skill = skill
        self.origin = origin
        self.name = skill.name
        self.version = skill.version
        self.description = skill.description
        self.parameters = skill.parameters
        self.output = skill.output
        self.example: SkillInput | None = getattr(skill, "example", None)

    def run(self, page: SkillInput) -> JsonValue:
        """Return the output of the skill.

        Raises:
            SkillError: it raised one, it failed in another way, or its output is not what its model says.
        """
        try:
            output = self._skill.run(page)
        except EikonError:
            raise
        except (Exception, SystemExit) as fault:  # the code is not ours, and its fault ends this run of it alone
            message = (
                f"{self.name}: wanted an output of {self.origin}, found {type(fault).__name__}: {fault} "
                f"({_place(fault)}); tell its authors"
            )
            raise SkillError(message) from fault
        return self._checked(output)

    def _checked(self, output: JsonValue) -> JsonValue:
        try:
            self.output.model_validate_json(canonical_json(output).encode())
        except (TraceFieldError, UnicodeEncodeError, ValidationError) as error:
            message = (
                f"{self.name}: wanted an output of its model {self.output.__name__} from {self.origin}, "
                f"found another: {_first_line(error)}; tell its authors"
            )
            raise SkillError(message) from error
        return output


def lacking(skill: object, entry_name: str) -> str | None:
    """Say what keeps an object from being a skill of this name; None if nothing does."""
    name, version = getattr(skill, "name", None), getattr(skill, "version", None)
    description = getattr(skill, "description", None)
    if name != entry_name:
        return f"wanted the name {entry_name!r} of its entry point, found {name!r}"
    if type(version) is not int or version < 1:
        return f"wanted a version, a whole number from 1, found {version!r}"
    if not isinstance(description, str) or not description.strip() or "\n" in description:
        return f"wanted a description of one line, found {description!r}"
    for part in ("parameters", "output"):
        model = getattr(skill, part, None)
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            return f"wanted a pydantic model as its {part}, found {model!r}"
    return None if callable(getattr(skill, "run", None)) else "wanted a method `run`, found none"


def _place(fault: BaseException) -> str:
    last = traceback.extract_tb(fault.__traceback__)[-1]
    return f"{last.name}, line {last.lineno}"


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_context=False)[0]
        return f"{'.'.join(map(str, first['loc'])) or 'the whole'}: {first['msg']}"
    return str(error)
