"""What a skill is given and what it must be able to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel

    from eikon_engine.completions import CompletionClient
    from eikon_engine.trace.json_value import JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillInput:
    """Hold everything a skill may look at."""

    html: str
    """The stored document, shadow roots as `<template shadowrootmode>`."""
    url: str
    """Address of the document; relative addresses are resolved against it."""
    parameters: Mapping[str, JsonValue] = field(default_factory=lambda: MappingProxyType({}))
    ask: CompletionClient | None = None
    """What answers questions to a model; None where there is none."""


class Skill(Protocol):
    """A pure function of one stored page: no clock, no chance, no network, no browser, no state between two runs."""

    @property
    def name(self) -> str:
        """Name under which a trace records its use."""

    @property
    def version(self) -> int:
        """Number that grows whenever the same page may give another result."""

    @property
    def description(self) -> str:
        """One line for lists of skills."""

    @property
    def parameters(self) -> type[BaseModel]:
        """Model of its parameters."""

    @property
    def output(self) -> type[BaseModel]:
        """Model of its output."""

    def run(self, page: SkillInput) -> JsonValue:
        """Return the result for this page, as JSON of the output's model.

        Raises:
            SkillError: a parameter is unknown or wrong, or the page lacks what the skill works on.
        """
