"""Reading the parameters of a skill strictly."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from eikon_engine.errors import SkillError

if TYPE_CHECKING:
    from eikon_engine.skills.protocol import SkillInput


class Parameters(BaseModel):
    """Stand above the parameters of every skill: no unknown name, no conversion of types."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


_ParametersT = TypeVar("_ParametersT", bound=Parameters)


def read_parameters(model: type[_ParametersT], page: SkillInput, skill: str) -> _ParametersT:
    """Return the parameters given with a page as the model of this skill.

    Raises:
        SkillError: a name is unknown or a value has the wrong type; the message names it and the known ones.
    """
    try:
        return model.model_validate(dict(page.parameters))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        known = ", ".join(sorted(model.model_fields)) or "none"
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            message = f"{skill}: unknown parameter {name!r}; known parameters: {known}"
        else:
            wanted = first["msg"][:1].lower() + first["msg"][1:]
            message = f"{skill}: parameter {name!r}: {wanted}, found {first['input']!r}; known parameters: {known}"
        raise SkillError(message) from error
