"""The models of a scenario file, `scenarios/BROWSER_TOOL.yaml`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from eikon_engine.completions.completion import Message
from eikon_engine.trace.record import FileModel, FiniteJson

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
