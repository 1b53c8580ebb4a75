"""Read a scenario from YAML; errors have line and column."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.errors import YamlError
from eikon_engine.scenario.model import STEP_KINDS, Scenario
from eikon_engine.trace.yaml_text import YamlDocument, read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.trace.yaml_text import ValuePath as Place


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFile:
    """A scenario with its source text."""

    path: Path
    scenario: Scenario
    text: YamlDocument
    digest: str
    """SHA-256 of the file, hexadecimal."""

    @property
    def folder(self) -> Path:
        """Return the base folder of its relative paths."""
        return self.path.parent


def read_scenario(path: Path) -> ScenarioFile:
    """Read a scenario.

    Raises:
        YamlError: it is not valid YAML, or not a scenario.
        RequirementError: the YAML library is not installed.
    """
    try:
        data = path.read_bytes()
        text = read_yaml(data.decode("utf-8-sig"), str(path))
    except OSError as error:
        message = f"{path}: the scenario cannot be read ({error.strerror}). Check the path."
        raise YamlError(message) from error
    except UnicodeDecodeError as error:
        message = f"{path}: expected UTF-8 text, got invalid bytes at offset {error.start}. Save the file as UTF-8."
        raise YamlError(message) from error
    for place, step in _raw_steps(text.data):
        _check_step_kind(text, place, step)
    scenario = text.parse_as(Scenario)
    return ScenarioFile(path=path, scenario=scenario, text=text, digest=hashlib.sha256(data).hexdigest())


def _raw_steps(data: JsonValue) -> Iterator[tuple[Place, JsonValue]]:
    """Yield the raw steps; validating each by its own model gives precise errors."""
    subgoals = data.get("subgoals") if isinstance(data, dict) else None
    for number, subgoal in enumerate(subgoals if isinstance(subgoals, list) else ()):
        steps = subgoal.get("steps") if isinstance(subgoal, dict) else None
        for place, step in enumerate(steps if isinstance(steps, list) else ()):
            yield ("subgoals", number, "steps", place), step


def _check_step_kind(text: YamlDocument, place: Place, step: JsonValue) -> None:
    kinds = [kind for kind in STEP_KINDS if isinstance(step, dict) and kind in step]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none of them"
        raise text.error_at(place, f"expected exactly one of the keys {', '.join(STEP_KINDS)}, got {found}")
    text.parse_as(STEP_KINDS[kinds[0]], place)
