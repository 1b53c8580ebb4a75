"""Named masks: parts of a page that differ from run to run, left out of every comparison, and told as lost coverage.

A node is named by its path as DOM differences show it: steps joined by ` > `, from the root of the frame's document.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self, TypeAlias, get_args

from pydantic import Field, field_validator, model_validator

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.dom.css import CssSelector
from eikon_engine.trace.record import Record

ANY_DEPTH: Final = "**"
SHADOW: Final = "#shadow"
TEXT_STEP: Final = "text()"
_STEP: Final = r"(\*|#shadow|(text\(\)|[A-Za-z][\w:.\-]*)(#[A-Za-z_][\w\-]*|:nth\(([0-9]+|\*)\))?)"
NODE_PATH: Final = rf"^(\*\* > )?{_STEP}( > {_STEP})*$"


class TextPart(Record):
    """The texts that stand directly in an element, or one of them if the path ends with `text()`."""

    kind: Literal["text"] = "text"
    path: str = Field(pattern=NODE_PATH)


class AttributePart(Record):
    """One attribute of an element, its presence included."""

    kind: Literal["attribute"] = "attribute"
    path: str = Field(pattern=NODE_PATH)
    name: str = Field(min_length=1)


class ValuePart(Record):
    """One form state of an element."""

    kind: Literal["value"] = "value"
    path: str = Field(pattern=NODE_PATH)
    name: str = Field(default="value", min_length=1)
    """State as DOM differences name it: `value`, `checked`, `open`, `focus` …"""


class SubtreePart(Record):
    """An element with everything in it, its presence included."""

    kind: Literal["subtree"] = "subtree"
    path: str = Field(pattern=NODE_PATH)


class ConsoleErrorPart(Record):
    """Console errors that begin with a text."""

    kind: Literal["console_error"] = "console_error"
    prefix: str = Field(min_length=1)


class TitlePart(Record):
    """The title of the page; the `title` element is a node of the DOM and has its own mask."""

    kind: Literal["title"] = "title"


class SelectorPart(Record):
    """All elements that a CSS selector finds, with everything in them; or one attribute of each."""

    kind: Literal["selector"] = "selector"
    selector: str
    """See `eikon_engine.trace.dom.css`."""
    attribute: str | None = Field(default=None, min_length=1)

    @field_validator("selector")
    @classmethod
    def _is_understood(cls, selector: str) -> str:
        try:
            CssSelector(selector)
        except TraceFieldError as error:
            raise ValueError(error.message) from error
        return selector


class RequestPart(Record):
    """Requests whose key fits; whether they are made, and what they are answered, is not compared."""

    kind: Literal["request"] = "request"
    key: str = Field(min_length=1)
    """Method and URL, see `eikon_engine.network.keys`; `*` stands for any characters."""

    def fits(self, key: str) -> bool:
        """Say whether a request is one of them."""
        return fits(self.key, key)


class StoragePart(Record):
    """Cookies and items of local and session storage whose name fits."""

    kind: Literal["storage"] = "storage"
    name: str = Field(min_length=1)
    """`*` stands for any characters."""

    def fits(self, name: str) -> bool:
        """Say whether something that is kept is one of them."""
        return fits(self.name, name)


PathPart: TypeAlias = TextPart | AttributePart | ValuePart | SubtreePart
NodePart: TypeAlias = PathPart | SelectorPart
MaskedPart: TypeAlias = Annotated[
    NodePart | ConsoleErrorPart | TitlePart | RequestPart | StoragePart, Field(discriminator="kind")
]


class Mask(Record):
    """One part of some pages that is not compared."""

    name: str = Field(min_length=1)
    reason: str = Field(min_length=1)
    """Why it cannot be compared; shown in reports."""
    url: str = "*"
    """URL of the page; `*` stands for any characters, everything else for itself."""
    frame: str | None = None
    """Path of the frame (empty for the main frame); None for every frame. Only nodes have one."""
    part: MaskedPart

    @model_validator(mode="after")
    def _place_is_one_of_its_part(self) -> Self:
        if isinstance(self.part, RequestPart | StoragePart) and self.url != "*":
            message = f"url is {self.url!r}, but {self.part.kind} is of no page; leave it out"
            raise ValueError(message)
        if self.frame is not None and not isinstance(self.part, get_args(NodePart)):
            message = f"frame is {self.frame!r}, but {self.part.kind} is of no frame; leave it out"
            raise ValueError(message)
        return self

    def is_for(self, url: str) -> bool:
        """Tell whether a page at this URL has the masked part."""
        return fits(self.url, url)


def fits(pattern: str, text: str) -> bool:
    """Match a pattern in which `*` stands for any characters, and everything else for itself."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


def describe_mask(mask: Mask) -> str:  # noqa: C901 - one case a kind of part
    """Say in one line what a mask hides, and where."""
    where = "" if mask.url == "*" else f" on {mask.url}"
    frame = f", frame {mask.frame}" if mask.frame else ""
    match mask.part:
        case TextPart(path=path):
            what = f"text of {path}"
        case AttributePart(path=path, name=name):
            what = f"attribute {name} of {path}"
        case ValuePart(path=path, name=name):
            what = f"{name} of {path}"
        case SubtreePart(path=path):
            what = f"everything in {path}"
        case ConsoleErrorPart(prefix=prefix):
            what = f"console errors that begin with {prefix!r}"
        case TitlePart():
            what = "the title"
        case SelectorPart(selector=selector, attribute=None):
            what = f"everything in {selector}"
        case SelectorPart(selector=selector, attribute=attribute):
            what = f"attribute {attribute} of {selector}"
        case RequestPart(key=key):
            what = f"requests {key}"
        case StoragePart(name=name):
            what = f"what is kept under {name}"
    return f"{mask.name}: {what}{where}{frame}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a path: which of some siblings it names."""

    tag: str
    """`*` for any element, `**` for any way down, `#shadow` for the shadow root."""
    id: str = ""
    number: int | Literal["only", "every"] = "only"
    """Number among the siblings of its tag, from 1; `only` names none where there are several."""

    def names(self, sibling: Sibling) -> bool:
        """Tell whether the step names one of some siblings."""
        if self.tag != sibling.tag and not (self.tag == "*" and sibling.tag != TEXT_STEP):
            return False
        if self.id:
            return self.id == sibling.id
        match self.number:
            case "only":
                return self.tag == "*" or sibling.total == 1
            case "every":
                return True
            case number:
                return number == sibling.number


@dataclass(frozen=True, slots=True, kw_only=True)
class Sibling:
    """What a node is called among its siblings."""

    tag: str
    """`text()` for a text."""
    id: str
    number: int
    """Among its like, from 1."""
    total: int
    """How many of its like there are."""


def path_steps(path: str) -> tuple[Step, ...]:
    """Take a path apart."""
    return tuple(_step(text) for text in path.split(" > "))


def _step(text: str) -> Step:
    if text in {"*", ANY_DEPTH, SHADOW}:
        return Step(tag=text)
    if text.endswith(")") and ":nth(" in text:
        tag, _, number = text[:-1].rpartition(":nth(")
        return Step(tag=tag, number="every" if number == "*" else int(number))
    tag, _, identity = text.partition("#")
    return Step(tag=tag, id=identity)
