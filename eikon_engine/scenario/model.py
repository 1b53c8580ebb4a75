"""What a scenario says: `scenarios/NAME.yaml`."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from eikon_engine.completions.completion import Message
from eikon_engine.trace.record import FiniteJson, Record

FORMAT_VERSION: Final = 1

Name: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""A name that may stand in a reference."""
Id: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}$")]
"""An id that may stand in the name of a file."""


class _Step(Record):
    expect_error: bool | str = False
    """Whether the step has to fail, for the run to go on: at all (true), or with this code or type of error."""


class ActionStep(_Step):
    """Do something to the page."""

    action: dict[str, FiniteJson] = Field(
        json_schema_extra={"required": ["type"], "properties": {"type": {"type": "string"}}}
    )
    """An action as a trace writes it (docs/actions.md)."""
    save_as: Name | None = Field(default=None, alias="as")
    """Name of its output: `{"pages": [{"page", "url", "title"}]}`."""


class ToolStep(_Step):
    """Call a tool."""

    tool: str = Field(min_length=1)
    args: dict[str, FiniteJson] = Field(default_factory=dict)
    save_as: Name | None = Field(default=None, alias="as")
    """Name of its output: what the tool returns."""


class SkillStep(_Step):
    """Run a skill on the page as it is."""

    skill: str = Field(min_length=1)
    parameters: dict[str, FiniteJson] = Field(default_factory=dict)
    page: int = Field(default=0, ge=0)
    frame: str = ""
    save_as: Name | None = Field(default=None, alias="as")
    """Name of its output: what the skill returns."""


class Question(Record):
    """What a model is asked."""

    prompt: str | None = Field(default=None, min_length=1)
    """Instead of `messages`: one message of the user."""
    messages: tuple[Message, ...] = ()
    model: str | None = None
    """None where the client chooses it."""
    parameters: dict[str, FiniteJson] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _asks_something(self) -> Question:
        if (self.prompt is None) == (not self.messages):
            message = "wanted one of prompt and messages"
            raise ValueError(message)
        return self


class CompletionStep(_Step):
    """Ask a model."""

    completion: Question
    metric_id: str | None = Field(default=None, min_length=1)
    """What the answer is for; the subgoal and the number of the step if left out."""
    save_as: Name | None = Field(default=None, alias="as")
    """Name of its output: the text of the answer."""


class NoteStep(Record):
    """Say something in the events of the run."""

    note: str


Step: TypeAlias = ActionStep | ToolStep | SkillStep | CompletionStep | NoteStep
KINDS: Final[dict[str, type[ActionStep | ToolStep | SkillStep | CompletionStep | NoteStep]]] = {
    "action": ActionStep,
    "tool": ToolStep,
    "skill": SkillStep,
    "completion": CompletionStep,
    "note": NoteStep,
}
"""The key that tells which step it is."""


class Subgoal(Record):
    """One part of the plan."""

    id: Id
    description: str = ""
    steps: tuple[Step, ...] = Field(min_length=1)


class Scenario(Record):
    """A mission with its tools, models and skills, and what it has to keep to."""

    format_version: Literal[1] = FORMAT_VERSION
    id: Id
    goal: str = Field(min_length=1)
    start_url: str | None = Field(default=None, min_length=1)
    """Loaded before the first step, in the first subgoal."""
    allowed_tools: tuple[str, ...] = ()
    """The tools that may be called, and no others."""
    files: str = "."
    """Folder of `read_file`, relative to the folder of the scenario."""
    variables: dict[Name, str | None] = Field(default_factory=dict)
    """Values by name, which `--var` replaces; null where it has to be given."""
    subgoals: tuple[Subgoal, ...] = Field(min_length=1)
    gates: dict[str, Any] = Field(default_factory=dict)
    """Limits that the run has to keep to (docs/gates.md)."""
