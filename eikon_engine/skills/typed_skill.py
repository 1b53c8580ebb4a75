"""Base class for skills with typed parameters and output and a parsed page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from eikon_engine.skills.document import parse_document
from eikon_engine.skills.parameters import Parameters, read_parameters
from eikon_engine.trace.record import FileModel

if TYPE_CHECKING:
    from pydantic import BaseModel

    from eikon_engine.skills.document import Document
    from eikon_engine.skills.protocol import SkillInput
    from eikon_engine.trace.json_value import JsonValue


class Output(FileModel):
    """Base class of skill outputs: frozen, closed, no type coercion."""


ParametersT = TypeVar("ParametersT", bound=Parameters)
OutputT = TypeVar("OutputT", bound="BaseModel")


class TypedSkill(ABC, Generic[ParametersT, OutputT]):
    """Base class for skills: subclasses implement `look`."""

    name: ClassVar[str]
    version: ClassVar[int]
    description: ClassVar[str]
    example: ClassVar[SkillInput | None] = None
    """A small example page; `eikon skills show` runs the skill on it."""
    parameters: type[ParametersT]
    output: type[OutputT]

    def run(self, page: SkillInput) -> JsonValue:
        """Validate the parameters, parse the page, run the skill, and return the output as JSON.

        Raises:
            SkillError: a parameter is invalid, or the page does not contain what the skill extracts.
        """
        parameters = read_parameters(self.parameters, page, self.name)
        output: JsonValue = self.analyze(parse_document(page), parameters).model_dump(mode="json")
        return output

    @abstractmethod
    def analyze(self, document: Document, parameters: ParametersT) -> OutputT:
        """Return the output of the skill for a parsed page.

        Raises:
            SkillError: the page does not contain what the skill extracts.
        """
