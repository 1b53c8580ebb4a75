"""Read a scenario from YAML; what is wrong has line and column."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eikon_engine.errors import YamlError
from eikon_engine.scenario.model import KINDS, Scenario
from eikon_engine.trace.yaml_text import YamlText, read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.trace.yaml_text import Path as Place


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFile:
    """A scenario, and the text it was read from."""

    path: Path
    scenario: Scenario
    text: YamlText
    digest: str
    """SHA-256 of the file, hexadecimal."""

    @property
    def folder(self) -> Path:
        """Return the folder that its relative paths begin in."""
        return self.path.parent


def read_scenario(path: Path) -> ScenarioFile:
    """Read a scenario.

    Raises:
        YamlError: it is no YAML, or no scenario.
        RequirementError: the library for YAML is not installed.
    """
    try:
        data = path.read_bytes()
        text = read_yaml(data.decode("utf-8-sig"), str(path))
    except OSError as error:
        message = f"{path}: the scenario cannot be read ({error.strerror}); check the path"
        raise YamlError(message) from error
    except UnicodeDecodeError as error:
        message = f"{path}: wanted text in UTF-8, found other bytes from byte {error.start} on; save it as UTF-8"
        raise YamlError(message) from error
    for place, step in _steps(text.data):
        _read_step(text, place, step)
    scenario = text.read_as(Scenario)
    return ScenarioFile(path=path, scenario=scenario, text=text, digest=hashlib.sha256(data).hexdigest())


def _steps(data: JsonValue) -> Iterator[tuple[Place, JsonValue]]:
    """Yield what stands in the place of steps; each is read by itself, so that a fault is told of its kind alone."""
    subgoals = data.get("subgoals") if isinstance(data, dict) else None
    for number, subgoal in enumerate(subgoals if isinstance(subgoals, list) else ()):
        steps = subgoal.get("steps") if isinstance(subgoal, dict) else None
        for place, step in enumerate(steps if isinstance(steps, list) else ()):
            yield ("subgoals", number, "steps", place), step


def _read_step(text: YamlText, place: Place, step: JsonValue) -> None:
    kinds = [kind for kind in KINDS if isinstance(step, dict) and kind in step]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none of them"
        raise text.error(place, f"wanted one of {', '.join(KINDS)}, which say what the step does, found {found}")
    text.read_as(KINDS[kinds[0]], place)
