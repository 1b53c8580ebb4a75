"""The interface of skills, and the base class of skills with typed parameters and output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from eikon_engine.errors import SkillError
from eikon_engine.files.models import FileModel
from eikon_engine.skills.document import parse_document

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.files.json_text import JsonValue
    from eikon_engine.llm import CompletionClient
    from eikon_engine.skills.document import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillInput:
    """The complete input of a skill."""

    html: str
    """The stored document, with shadow roots as `<template shadowrootmode>`."""
    url: str
    """URL of the document, the base of relative URLs."""
    parameters: Mapping[str, JsonValue] = field(default_factory=lambda: MappingProxyType({}))
    completion_client: CompletionClient | None = None
    """Client for questions to a language model; None if none is available."""


class Skill(Protocol):
    """A pure function of one stored page: no clock, randomness, network or browser, no state between two runs."""

    @property
    def name(self) -> str:
        """Name of the skill in traces."""

    @property
    def version(self) -> int:
        """Version; increment it whenever the output for the same page can change."""

    @property
    def description(self) -> str:
        """One-line description."""

    @property
    def parameters(self) -> type[BaseModel]:
        """Model of the parameters."""

    @property
    def output(self) -> type[BaseModel]:
        """Model of the output."""

    def run(self, page: SkillInput) -> JsonValue:
        """Return the output for this page as JSON of the output model.

        Raises:
            SkillError: a parameter is invalid, or the page does not contain what the skill extracts.
        """


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
            expected = first["msg"][:1].lower() + first["msg"][1:]
            message = f"{skill}: parameter {name!r}: {expected}, got {first['input']!r}. Known parameters: {known}."
        raise SkillError(message) from error


class Output(FileModel):
    """Base class of skill outputs: frozen, closed, no type coercion."""


ParametersT = TypeVar("ParametersT", bound=Parameters)
OutputT = TypeVar("OutputT", bound="BaseModel")


class TypedSkill(ABC, Generic[ParametersT, OutputT]):
    """Base class for skills: subclasses implement `analyze`."""

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
