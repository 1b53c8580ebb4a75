"""The models of a scenario file, `scenarios/NAME.yaml`, its reader and its JSON Schema."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from eikon_engine.errors import YamlError
from eikon_engine.files.limits import MAX_SETTINGS_BYTES, read_file
from eikon_engine.files.models import FileModel, FiniteJson
from eikon_engine.files.yaml import ErrorList, YamlDocument, read_yaml
from eikon_engine.llm.completion import Message
from eikon_engine.scenario.older_words import with_current_words
from eikon_engine.trace.schema import build_schema

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pydantic import JsonValue

    from eikon_engine.files.yaml import ValuePath as Place

FORMAT_VERSION: Final = 1

Name: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""A name usable in references."""
Id: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$")]
"""An id usable in file names."""


class _Step(FileModel):
    expect_error: bool | str = False
    """Whether the step must fail: with any error (true), or with this error code or type."""


class ActionStep(_Step):
    """Perform an action on a page."""

    action: dict[str, FiniteJson] = Field(
        json_schema_extra={"required": ["type"], "properties": {"type": {"type": "string"}}}
    )
    """An action in the format of traces (docs/actions.md)."""
    save_as: Name | None = Field(default=None, alias="as")
    """Name of its output: `{"pages": [{"page", "url", "title"}]}`."""


class ToolStep(_Step):
    """Call a tool."""

    tool: str = Field(min_length=1)
    args: dict[str, FiniteJson] = Field(default_factory=dict)
    save_as: Name | None = Field(default=None, alias="as")
    """Name of its output: the return value of the tool."""


class SkillStep(_Step):
    """Run a skill on the current page."""

    skill: str = Field(min_length=1)
    parameters: dict[str, FiniteJson] = Field(default_factory=dict)
    page: int = Field(default=0, ge=0)
    frame: str = ""
    save_as: Name | None = Field(default=None, alias="as")
    """Name of its output: the return value of the skill."""


class ModelPrompt(FileModel):
    """A request to a model."""

    prompt: str | None = Field(default=None, min_length=1)
    """A single user message, instead of `messages`."""
    messages: tuple[Message, ...] = ()
    model: str | None = None
    """None for the default of the client."""
    parameters: dict[str, FiniteJson] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_prompt(self) -> ModelPrompt:
        if (self.prompt is None) == (not self.messages):
            message = "expected one of prompt and messages"
            raise ValueError(message)
        return self


class CompletionStep(_Step):
    """Call a model."""

    completion: ModelPrompt
    metric_id: str | None = Field(default=None, min_length=1)
    """Purpose of the response; by default the subgoal and step number."""
    save_as: Name | None = Field(default=None, alias="as")
    """Name of its output: the text of the response."""


class NoteStep(FileModel):
    """Write a note to the events of the run."""

    note: str


Step: TypeAlias = ActionStep | ToolStep | SkillStep | CompletionStep | NoteStep
STEP_KINDS: Final[dict[str, type[ActionStep | ToolStep | SkillStep | CompletionStep | NoteStep]]] = {
    "action": ActionStep,
    "tool": ToolStep,
    "skill": SkillStep,
    "completion": CompletionStep,
    "note": NoteStep,
}
"""Step models by the key that identifies them."""


class Subgoal(FileModel):
    """One part of the plan."""

    id: Id
    description: str = ""
    steps: tuple[Step, ...] = Field(min_length=1)


class Scenario(FileModel):
    """A mission with its tools, models, skills and gates."""

    format_version: Literal[1] = FORMAT_VERSION
    id: Id
    goal: str = Field(min_length=1)
    start_url: str | None = Field(default=None, min_length=1)
    """URL to load before the first step, in the first subgoal."""
    allowed_tools: tuple[str, ...] = ()
    """The only tools that may be called."""
    files: str = "."
    """Folder of `read_file`, relative to the folder of the scenario."""
    variables: dict[Name, str | None] = Field(default_factory=dict)
    """Default values by name, overridden by `--var`; null makes a variable required."""
    subgoals: tuple[Subgoal, ...] = Field(min_length=1)
    gates: dict[str, Any] = Field(default_factory=dict)
    """Limits of the run (docs/gates.md)."""


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
    if path.suffix == ".py":
        message = f"{path}: expected a scenario in YAML or JSON, got a Python script"
        raise YamlError(f"{message}; `eikon record --script {path}` records a script")
    try:
        data = read_file(path, limit=MAX_SETTINGS_BYTES)
        text = with_current_words(read_yaml(data.decode("utf-8-sig"), str(path)))
    except OSError as error:
        message = f"{path}: the scenario cannot be read ({error.strerror}). Check the path."
        raise YamlError(message) from error
    except UnicodeDecodeError as error:
        message = f"{path}: expected UTF-8 text, got invalid bytes at offset {error.start}. Save the file as UTF-8."
        raise YamlError(message) from error
    faults = ErrorList()
    for place, step in _raw_steps(text.data):
        with faults.collecting():
            _check_step_kind(text, place, step)
    for place, fault in text.find_faults(Scenario).items():
        if not _is_in_step(place):
            faults.add(fault)
    faults.raise_any()
    scenario = text.parse_as(Scenario)
    return ScenarioFile(path=path, scenario=scenario, text=text, digest=hashlib.sha256(data).hexdigest())


def _raw_steps(data: JsonValue) -> Iterator[tuple[Place, JsonValue]]:
    """Yield the raw steps; validating each by its own model gives precise errors."""
    subgoals = data.get("subgoals") if isinstance(data, dict) else None
    for number, subgoal in enumerate(subgoals if isinstance(subgoals, list) else ()):
        steps = subgoal.get("steps") if isinstance(subgoal, dict) else None
        for place, step in enumerate(steps if isinstance(steps, list) else ()):
            yield ("subgoals", number, "steps", place), step


def _is_in_step(place: Place) -> bool:
    """Return whether a path leads into a step, which is checked by the model of its kind."""
    return place[:1] == ("subgoals",) and place[2:3] == ("steps",) and bool(place[3:])


def _check_step_kind(text: YamlDocument, place: Place, step: JsonValue) -> None:
    kinds = [kind for kind in STEP_KINDS if isinstance(step, dict) and kind in step]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "none of them"
        raise text.error_at(place, f"expected exactly one of the keys {', '.join(STEP_KINDS)}, got {found}")
    text.parse_as(STEP_KINDS[kinds[0]], place)


SCHEMA_ID: Final = f"urn:eikon-engine:scenario:{FORMAT_VERSION}"


def scenario_schema() -> dict[str, object]:
    """Describe version 1 of a scenario, in JSON Schema 2020-12."""
    return build_schema(
        Scenario,
        schema_id=SCHEMA_ID,
        title="Eikon scenario",
        description="A mission with its tools, models and limits, as YAML or JSON. See docs/scenarios.md.",
    )
