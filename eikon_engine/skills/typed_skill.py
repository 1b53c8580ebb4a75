"""The usual way to write a skill: parameters and output are models, the page is parsed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from eikon_engine.skills.document import parse_document
from eikon_engine.skills.parameters import Parameters, read_parameters
from eikon_engine.trace.record import Record

if TYPE_CHECKING:
    from pydantic import BaseModel

    from eikon_engine.skills.document import Document
    from eikon_engine.skills.protocol import SkillInput
    from eikon_engine.trace.json_value import JsonValue


class Output(Record):
    """Stand above the outputs of skills: closed, no conversion of types, not changed once made."""


ParametersT = TypeVar("ParametersT", bound=Parameters)
OutputT = TypeVar("OutputT", bound="BaseModel")


class TypedSkill(ABC, Generic[ParametersT, OutputT]):
    """A skill with the parts that every skill has; what is left to write is how it looks at a page."""

    name: ClassVar[str]
    version: ClassVar[int]
    description: ClassVar[str]
    example: ClassVar[SkillInput | None] = None
    """A small page that shows what the skill does; `eikon skills show` runs it."""
    parameters: type[ParametersT]
    output: type[OutputT]

    def run(self, page: SkillInput) -> JsonValue:
        """Read the parameters, parse the page, look at it, and return the output as JSON.

        Raises:
            SkillError: a parameter is unknown or wrong, or the page lacks what the skill works on.
        """
        parameters = read_parameters(self.parameters, page, self.name)
        output: JsonValue = self.look(parse_document(page), parameters).model_dump(mode="json")
        return output

    @abstractmethod
    def look(self, document: Document, parameters: ParametersT) -> OutputT:
        """Return what the skill finds on a page.

        Raises:
            SkillError: the page lacks what the skill works on.
        """
