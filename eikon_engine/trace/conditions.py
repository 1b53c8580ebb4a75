"""What an action can wait for, and what it can demand."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from eikon_engine.trace.record import Record
from eikon_engine.trace.target import Target


class SelectorCondition(Record):
    """Hold when the target is in a state."""

    kind: Literal["selector"] = "selector"
    target: Target
    state: Literal["attached", "detached", "visible", "hidden"] = "visible"


class UrlCondition(Record):
    """Hold when the URL of the page equals `url`; `*` stands for any run of characters."""

    kind: Literal["url"] = "url"
    url: str


class LoadStateCondition(Record):
    """Hold when the document has come this far in loading."""

    kind: Literal["load_state"] = "load_state"
    state: Literal["domcontentloaded", "load"] = "load"


class FunctionCondition(Record):
    """Hold when a JavaScript expression, or what it returns as a function, is truthy in the main frame."""

    kind: Literal["function"] = "function"
    expression: str


Condition: TypeAlias = Annotated[
    SelectorCondition | UrlCondition | LoadStateCondition | FunctionCondition, Field(discriminator="kind")
]


class AssertVisible(Record):
    """Demand that the target is visible."""

    kind: Literal["visible"] = "visible"
    target: Target


class AssertText(Record):
    """Demand the text of the target, white space collapsed."""

    kind: Literal["text"] = "text"
    target: Target
    text: str
    contains: bool = False


class AssertCount(Record):
    """Demand the number of elements that a selector matches."""

    kind: Literal["count"] = "count"
    target: Target
    count: int = Field(ge=0)


class AssertUrl(Record):
    """Demand the URL of the page; `*` stands for any run of characters."""

    kind: Literal["url"] = "url"
    url: str


Expectation: TypeAlias = Annotated[AssertVisible | AssertText | AssertCount | AssertUrl, Field(discriminator="kind")]
