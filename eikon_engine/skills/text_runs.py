"""The text of a page as runs: pieces of continuous text with their element and whether they are struck through."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from eikon_engine.skills.document import INLINE_TAGS, TEXTLESS_TAGS, is_shadow_root, normalize_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from selectolax.lexbor import LexborNode

_STRUCK_TAGS: Final = frozenset({"del", "s", "strike"})
_STRUCK_CLASS: Final = re.compile(
    r"(?:^|[\s_-])(?:old|was|strike|striked|strikethrough|line-through|crossed|rrp|msrp|uvp|regular|original|before)"
    r"(?:[\s_-]|$)",
    re.IGNORECASE,
)
_PRICE_CLASS: Final = re.compile(r"price|preis|prix|precio|prezzo|amount", re.IGNORECASE)
_LINE_THROUGH: Final = re.compile(r"text-decoration[^;]*line-through", re.IGNORECASE)
_CENTS: Final = re.compile(r"\d\d")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRun:
    """Text without a block boundary, line break or change of strike-through."""

    text: str
    node: LexborNode
    """The element in which the run starts."""
    is_struck: bool


@dataclass(slots=True)
class _RunBuilder:
    """The current run and the completed ones."""

    parts: list[str] = field(default_factory=list)
    node: LexborNode | None = None
    struck: bool = False
    finished: list[TextRun] = field(default_factory=list)

    def finish_run(self) -> None:
        text = normalize_text("".join(self.parts))
        if text and self.node is not None:
            self.finished.append(TextRun(text=text, node=self.node, is_struck=self.struck))
        self.parts.clear()
        self.node = None

    def add(self, text: str, node: LexborNode, *, struck: bool) -> None:
        if struck != self.struck:
            self.finish_run()
            self.struck = struck
        if self.node is None and text.strip():
            self.node = node
        self.parts.append(text)


@dataclass(frozen=True, slots=True)
class _Level:
    """An element whose children are being traversed."""

    children: Iterator[LexborNode]
    element: LexborNode
    """The element itself, or the ancestor in `apart` that owns the run."""
    struck: bool
    ends_run: bool
    is_separate: bool


def text_runs(scope: LexborNode, *, separate: frozenset[str] = frozenset()) -> tuple[TextRun, ...]:
    """Return the text runs of an element in document order; elements whose tag is in `apart` are separate runs.

    Elements with `aria-hidden` are skipped: they repeat visually what screen readers get elsewhere. Two digits in a
    `<sup>` right after a digit are the cents of a price: `19<sup>99</sup>` reads `19.99`.
    """
    runs = _RunBuilder()
    stack = [_Level(scope.iter(include_text=True), scope, _is_struck(scope), ends_run=True, is_separate=False)]
    while stack:
        level = stack[-1]
        for child in level.children:
            tag = child.tag or ""
            if tag == "-text":
                runs.add(child.text_content or "", level.element, struck=level.struck)
            elif _has_text(child, tag):
                is_apart = level.is_separate or tag in separate
                ends_run = tag not in INLINE_TAGS or tag in separate
                if ends_run:
                    runs.finish_run()
                if tag == "sup":
                    _separate_cents(runs, child)
                owner = level.element if level.is_separate else child
                struck = level.struck or _is_struck(child)
                stack.append(_Level(child.iter(include_text=True), owner, struck, ends_run, is_apart))
                break
        else:
            if level.ends_run:
                runs.finish_run()
            stack.pop()
    return tuple(runs.finished)


def _has_text(child: LexborNode, tag: str) -> bool:
    if tag == "-comment" or (tag in TEXTLESS_TAGS and not is_shadow_root(child)):
        return False
    return child.attributes.get("aria-hidden") != "true"


def _separate_cents(runs: _RunBuilder, raised: LexborNode) -> None:
    before = "".join(runs.parts[-1:]).rstrip()
    if before[-1:].isdigit() and _CENTS.fullmatch(normalize_text(raised.text())):
        runs.parts.append(".")


def _is_struck(element: LexborNode) -> bool:
    """Whether an element is struck through by its tag, its style, or a class of a former price."""
    if element.tag in _STRUCK_TAGS:
        return True
    attributes = element.attributes
    name = attributes.get("class") or ""
    if name and _STRUCK_CLASS.search(name) and (_PRICE_CLASS.search(name) or "through" in name or "strike" in name):
        return True
    style = attributes.get("style")
    return bool(style and _LINE_THROUGH.search(style))


def page_text(scopes: Iterable[LexborNode]) -> str:
    """Return the text of some elements, one line per block."""
    return "\n".join(run.text for scope in scopes for run in text_runs(scope))
