"""Conditions that an action waits for or asserts."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from eikon_engine.trace.record import FileModel
from eikon_engine.trace.target import Target


class SelectorCondition(FileModel):
    """True when the target is in the given state."""

    kind: Literal["selector"] = "selector"
    target: Target
    state: Literal["attached", "detached", "visible", "hidden"] = "visible"


class UrlCondition(FileModel):
    """True when the URL of the page equals `url`; `*` matches any characters."""

    kind: Literal["url"] = "url"
    url: str


class LoadStateCondition(FileModel):
    """True when the document has reached the load state."""

    kind: Literal["load_state"] = "load_state"
    state: Literal["domcontentloaded", "load"] = "load"


class FunctionCondition(FileModel):
    """True when a JavaScript expression, or the function it evaluates to, returns a truthy value in the main frame."""

    kind: Literal["function"] = "function"
    expression: str


Condition: TypeAlias = Annotated[
    SelectorCondition | UrlCondition | LoadStateCondition | FunctionCondition, Field(discriminator="kind")
]


class AssertVisible(FileModel):
    """Assert that the target is visible."""

    kind: Literal["visible"] = "visible"
    target: Target


class AssertText(FileModel):
    """Assert the text of the target, with white space collapsed."""

    kind: Literal["text"] = "text"
    target: Target
    text: str
    contains: bool = False


class AssertCount(FileModel):
    """Assert how many elements a selector matches."""

    kind: Literal["count"] = "count"
    target: Target
    count: int = Field(ge=0)


class AssertUrl(FileModel):
    """Assert the URL of the page; `*` matches any characters."""

    kind: Literal["url"] = "url"
    url: str


Expectation: TypeAlias = Annotated[AssertVisible | AssertText | AssertCount | AssertUrl, Field(discriminator="kind")]
