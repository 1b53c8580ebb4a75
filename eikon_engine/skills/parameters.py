"""Strict validation of skill parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from eikon_engine.errors import SkillError

if TYPE_CHECKING:
    from eikon_engine.skills.protocol import SkillInput


class Parameters(BaseModel):
    """Base class of skill parameters: no unknown names, no type coercion."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


_ParametersT = TypeVar("_ParametersT", bound=Parameters)


def read_parameters(model: type[_ParametersT], skill_input: SkillInput, skill: str) -> _ParametersT:
    """Validate the parameters given with a page against the model of a skill.

    Raises:
        SkillError: a name is unknown or a value has the wrong type; the message lists the known names.
    """
    try:
        return model.model_validate(dict(skill_input.parameters))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        known = ", ".join(sorted(model.model_fields)) or "none"
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            message = f"{skill}: unknown parameter {name!r}. Known parameters: {known}."
        else:
            wanted = first["msg"][:1].lower() + first["msg"][1:]
            message = f"{skill}: parameter {name!r}: {wanted}, got {first['input']!r}. Known parameters: {known}."
        raise SkillError(message) from error
