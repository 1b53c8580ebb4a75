"""The interface of skills."""

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
