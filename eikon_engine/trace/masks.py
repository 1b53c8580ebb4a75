"""Masks: named parts of pages that vary between runs, excluded from comparison and reported as reduced coverage.

A node is named by its path as in DOM differences: steps joined by ` > `, from the root of the frame's document.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self, TypeAlias, get_args

from pydantic import AfterValidator, Field, field_validator, model_validator

from eikon_engine.errors import TraceFieldError
from eikon_engine.files.models import FileModel
from eikon_engine.files.text import read_digits
from eikon_engine.trace.actions import ReadValue
from eikon_engine.trace.read_values import value_text
from eikon_engine.trace.rules import checked_pattern, matches_pattern

ANY_DEPTH: Final = "**"
SHADOW_ROOT: Final = "#shadow"
TEXT_NODE: Final = "text()"
_STEP: Final = r"(\*|#shadow|(text\(\)|[A-Za-z][\w:.\-]*)(#[A-Za-z_][\w\-]*|:nth\(([0-9]+|\*)\))?)"
NODE_PATH: Final = rf"^(\*\* > )?{_STEP}( > {_STEP})*$"


class TextPart(FileModel):
    """The texts directly in an element, or one of them if the path ends with `text()`."""

    kind: Literal["text"] = "text"
    path: str = Field(pattern=NODE_PATH)
    pattern: Annotated[str, Field(min_length=1), AfterValidator(checked_pattern)] | None = None
    """Regular expression of the texts to ignore, matched in full after white space is collapsed. Another text, or none,
    is a difference. Null for any text, and for its absence."""

    def covers(self, text: str | None) -> bool:
        """Return whether a text is ignored."""
        return _covers(self.pattern, text)


class AttributePart(FileModel):
    """An attribute of an element, including its presence."""

    kind: Literal["attribute"] = "attribute"
    path: str = Field(pattern=NODE_PATH)
    name: str = Field(min_length=1)
    pattern: Annotated[str, Field(min_length=1), AfterValidator(checked_pattern)] | None = None
    """Regular expression of the values to ignore, as for texts."""

    def covers(self, value: str | None) -> bool:
        """Return whether a value is ignored."""
        return _covers(self.pattern, value)


def _covers(pattern: str | None, value: str | None) -> bool:
    return pattern is None or (value is not None and matches_pattern(pattern, " ".join(value.split())))


class ValuePart(FileModel):
    """A form state of an element."""

    kind: Literal["value"] = "value"
    path: str = Field(pattern=NODE_PATH)
    name: str = Field(default="value", min_length=1)
    """Name of the state as in DOM differences: `value`, `checked`, `open`, `focus` …"""


class SubtreePart(FileModel):
    """An element with all its content, including its presence."""

    kind: Literal["subtree"] = "subtree"
    path: str = Field(pattern=NODE_PATH)


class OrderPart(FileModel):
    """The order of the elements in an element. The elements themselves are compared, and how often each occurs."""

    kind: Literal["order"] = "order"
    path: str = Field(pattern=NODE_PATH)


class ConsoleErrorPart(FileModel):
    """Console errors that start with a text."""

    kind: Literal["console_error"] = "console_error"
    prefix: str = Field(min_length=1)


class TitlePart(FileModel):
    """The title of the page; the `title` element is a DOM node and needs a mask of its own."""

    kind: Literal["title"] = "title"
    pattern: Annotated[str, Field(min_length=1), AfterValidator(checked_pattern)] | None = None
    """Regular expression of the titles to ignore, as for texts."""

    def covers(self, title: str) -> bool:
        """Return whether a title is ignored."""
        return _covers(self.pattern, title)


class SelectorPart(FileModel):
    """All elements that match a CSS selector, with all their content; or one attribute of each."""

    kind: Literal["selector"] = "selector"
    selector: str
    """See `eikon_engine.dom.css`."""
    attribute: str | None = Field(default=None, min_length=1)

    @field_validator("selector")
    @classmethod
    def _check_selector(cls, selector: str) -> str:
        from eikon_engine.dom.css import CssSelector  # noqa: PLC0415 - few traces have such masks

        try:
            CssSelector(selector)
        except TraceFieldError as error:
            raise ValueError(error.message) from error
        return selector


_WITH_BODY: Final = re.compile(r"(?!WEBSOCKET )(.*) sha256:[0-9a-f]{64}", re.DOTALL)
"""The key of a request with a body, see `eikon_engine.network.keys`; messages of WebSockets are none."""


class RequestPart(FileModel):
    """Requests whose method and URL match, whatever their body; neither they nor their responses are compared."""

    kind: Literal["request"] = "request"
    key: str = Field(min_length=1)
    """Method and URL, such as `POST https://shop.test/orders`; `*` matches any characters. May have the digest of one
    body, see `eikon_engine.network.keys`. With the method `WEBSOCKET`, the URL is that of a connection; with a `*` at
    the end, also the messages on it match."""

    def matches(self, key: str) -> bool:
        """Return whether a request matches."""
        with_body = _WITH_BODY.fullmatch(key)
        return matches_wildcard(self.key, key) or (with_body is not None and matches_wildcard(self.key, with_body[1]))


class StoragePart(FileModel):
    """Cookies and items of local and session storage whose name matches."""

    kind: Literal["storage"] = "storage"
    name: str = Field(min_length=1)
    """`*` matches any characters."""

    def matches(self, name: str) -> bool:
        """Return whether the name of a cookie or item matches."""
        return matches_wildcard(self.name, name)


class ReadPart(FileModel):
    """What actions read from pages; they are repeated, but not compared."""

    kind: Literal["read"] = "read"
    action: str = Field(min_length=1)
    """Label of the action, as in reports; `*` matches any characters. With `reads`, it only describes the action."""
    reads: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    """Digest of what the action reads: the whole script with its argument, page and target. The mask then covers only
    actions that read exactly that, whatever their label."""
    pattern: Annotated[str, Field(min_length=1), AfterValidator(checked_pattern)] | None = None
    """Regular expression of the JSON text of the values to ignore, as for texts of pages. A value in a file of its own
    is a difference."""

    def covers(self, value: ReadValue) -> bool:
        """Return whether a value is ignored."""
        return self.pattern is None or (value.long is None and _covers(self.pattern, value_text(value.value)))

    def matches(self, label: str, digest: str) -> bool:
        """Return whether an action with this label, which reads what this digest identifies, matches."""
        return matches_wildcard(self.action, label) if self.reads is None else self.reads == digest


PathPart: TypeAlias = TextPart | AttributePart | ValuePart | SubtreePart | OrderPart
NodePart: TypeAlias = PathPart | SelectorPart
MaskedPart: TypeAlias = Annotated[
    NodePart | ConsoleErrorPart | TitlePart | RequestPart | StoragePart | ReadPart, Field(discriminator="kind")
]


class Mask(FileModel):
    """A part of some pages that is not compared."""

    name: str = Field(min_length=1)
    reason: str = Field(min_length=1)
    """Why it is not compared; shown in reports."""
    url: str = "*"
    """URL of the page; `*` matches any characters, everything else is literal."""
    frame: str | None = None
    """Path of the frame (empty for the main frame); None for every frame. Only for masks of nodes."""
    part: MaskedPart

    @model_validator(mode="after")
    def _check_scope(self) -> Self:
        if isinstance(self.part, RequestPart | StoragePart | ReadPart) and self.url != "*":
            message = f"url is {self.url!r}, but {self.part.kind} does not belong to a page; omit url"
            raise ValueError(message)
        if self.frame is not None and not isinstance(self.part, get_args(NodePart)):
            message = f"frame is {self.frame!r}, but {self.part.kind} does not belong to a frame; omit frame"
            raise ValueError(message)
        return self

    def applies_to(self, url: str) -> bool:
        """Return whether the mask applies to a page with this URL."""
        return matches_wildcard(self.url, url)


def matches_wildcard(pattern: str, text: str) -> bool:
    """Match a pattern in which `*` matches any characters and everything else is literal."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


def describe_mask(mask: Mask) -> str:  # noqa: C901 - one case a kind of part
    """Describe in one line what a mask hides, and where."""
    where = "" if mask.url == "*" else f" on {mask.url}"
    frame = f", frame {mask.frame}" if mask.frame else ""
    match mask.part:
        case TextPart(path=path, pattern=pattern):
            what = f"text of {path}{_like(pattern)}"
        case AttributePart(path=path, name=name, pattern=pattern):
            what = f"attribute {name} of {path}{_like(pattern)}"
        case ValuePart(path=path, name=name):
            what = f"{name} of {path}"
        case SubtreePart(path=path):
            what = f"everything in {path}"
        case OrderPart(path=path):
            what = f"the order of the elements in {path}"
        case ConsoleErrorPart(prefix=prefix):
            what = f"console errors that start with {prefix!r}"
        case TitlePart(pattern=pattern):
            what = f"the title{_like(pattern)}"
        case SelectorPart(selector=selector, attribute=None):
            what = f"everything in {selector}"
        case SelectorPart(selector=selector, attribute=attribute):
            what = f"attribute {attribute} of {selector}"
        case RequestPart(key=key):
            what = f"requests {key}"
        case StoragePart(name=name):
            what = f"storage items {name}"
        case ReadPart(action=label, pattern=pattern):
            what = f"what is read by {label}{_like(pattern)}"
    return f"{mask.name}: {what}{where}{frame}"


def _like(pattern: str | None) -> str:
    return "" if pattern is None else f" if it matches {pattern}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PathStep:
    """One step of a path: selects among siblings."""

    tag: str
    """`*` for any element, `**` for any descendants, `#shadow` for the shadow root."""
    id: str = ""
    number: int | Literal["only", "every"] = "only"
    """Number among the siblings with the same tag, from 1; `only` matches nothing if there are several."""

    def matches(self, sibling: "SiblingPosition") -> bool:
        """Return whether the step matches a node."""
        if self.tag != sibling.tag and not (self.tag == "*" and sibling.tag != TEXT_NODE):
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
class SiblingPosition:
    """The properties of a node that distinguish it from its siblings."""

    tag: str
    """`text()` for a text."""
    id: str
    number: int
    """Among the siblings with the same tag, from 1."""
    total: int
    """Number of siblings with the same tag."""


def parse_path(path: str) -> tuple[PathStep, ...]:
    """Parse a path into its steps."""
    return tuple(_parse_step(text) for text in path.split(" > "))


def _parse_step(text: str) -> PathStep:
    if text in {"*", ANY_DEPTH, SHADOW_ROOT}:
        return PathStep(tag=text)
    if text.endswith(")") and ":nth(" in text:
        tag, _, number = text[:-1].rpartition(":nth(")
        return PathStep(tag=tag, number="every" if number == "*" else read_digits(number))
    tag, _, identity = text.partition("#")
    return PathStep(tag=tag, id=identity)
