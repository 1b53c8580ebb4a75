"""Convert selectors of other tools to Playwright selectors, ranked by how well they identify an element.

Playwright: https://playwright.dev/docs/other-locators, Puppeteer and the DevTools Recorder:
https://pptr.dev/guides/page-interactions#selectors, Selenium IDE: https://www.selenium.dev/selenium-ide/docs/en/api/arguments
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.target import Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eikon_engine.importers.imported_mission import MissionBuilder

TEST_IDS: Final = ("data-testid", "data-test-id", "data-test", "data-cy", "data-qa")
_POSITIONAL: Final = re.compile(r":nth-|:(first|last|only)-(child|of-type)|\[\d+\]|\bnth=")
_ONLY_ID: Final = re.compile(r"#[\w-]+")
_ARIA: Final = re.compile(r"""(?P<name>.*?)(?:\[\s*role\s*=\s*["'](?P<role>\w+)["']\s*\])?""", re.DOTALL)
_NOT_CSS: Final = ("/", "(", "..", '"', "'")
"""Prefixes that make Playwright read a selector as XPath or text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedSelector:
    """A Playwright selector with a rank."""

    text: str
    rank: int
    """Lower is better, see `_TEST_ID` … `_WEAK_XPATH`."""

    @property
    def is_weak(self) -> bool:
        """Whether the selector depends on position only."""
        return self.rank >= _WEAK


_TEST_ID, _ROLE, _ID, _CSS, _TEXT, _XPATH, _WEAK, _WEAK_XPATH = range(8)


def best_selector(selectors: Iterable[RankedSelector]) -> RankedSelector | None:
    """Return the selector with the best rank; the first of equal ones."""
    return min(selectors, key=lambda each: each.rank, default=None)


def rank_of(text: str) -> int:
    """Return the rank of a Playwright selector: weak if it depends on position."""
    return _WEAK if _POSITIONAL.search(text) else _CSS


def css(text: str, test_ids: Sequence[str] = TEST_IDS) -> RankedSelector:
    """Convert a CSS selector; Playwright pierces open shadow roots, like `pierce/`."""
    written = f"css={text}" if text.startswith(_NOT_CSS) or "=" in text.split("[", maxsplit=1)[0] else text
    if _POSITIONAL.search(text):
        return RankedSelector(text=written, rank=_WEAK)
    if any(f"[{name}" in text for name in test_ids):
        return RankedSelector(text=written, rank=_TEST_ID)
    return RankedSelector(text=written, rank=_ID if _ONLY_ID.fullmatch(text) else _CSS)


def xpath(text: str) -> RankedSelector:
    """Convert an XPath expression."""
    absolute = text.startswith("/") and not text.startswith("//")
    return RankedSelector(text=f"xpath={text}", rank=_WEAK_XPATH if absolute or _POSITIONAL.search(text) else _XPATH)


def role(name: str, role_name: str) -> RankedSelector:
    """Convert an ARIA role and an exact accessible name."""
    return RankedSelector(
        text=f"role={role_name}[name={quoted(name)}]" if name else f"role={role_name}", rank=_ROLE if name else _WEAK
    )


def text_containing(text: str) -> RankedSelector:
    """Convert a text: the smallest element that contains it, case-insensitive."""
    return RankedSelector(text=f"text={text}", rank=_TEXT)


def attribute(name: str, value: str, *, tag: str = "") -> RankedSelector:
    """Convert an attribute value; an `id` ranks like `#id`."""
    found = css(f"{tag}[{name}={quoted(value)}]")
    return replace(found, rank=_ID) if name == "id" else found


def quoted(text: str) -> str:
    """Quote a string in a selector."""
    return json.dumps(text, ensure_ascii=False)


def convert_devtools(selector: str | Sequence[str], test_ids: Sequence[str]) -> RankedSelector | None:
    """Convert a DevTools selector; a list pierces shadow roots. None if there is no equivalent."""
    parts = [selector] if isinstance(selector, str) else list(selector)
    converted = [_convert_devtools_part(part, test_ids) for part in parts]
    known = [each for each in converted if each is not None]
    if not known or len(known) != len(parts):
        return None
    return RankedSelector(text=" >> ".join(each.text for each in known), rank=max(each.rank for each in known))


def _convert_devtools_part(text: str, test_ids: Sequence[str]) -> RankedSelector | None:
    kind, slash, rest = text.partition("/")
    match kind if slash else "":
        case "aria":
            found = _ARIA.fullmatch(rest)
            return role(found["name"], found["role"]) if found is not None and found["role"] else None
        case "xpath":
            return xpath(rest)
        case "text":
            return text_containing(rest)
        case "pierce":
            return css(rest, test_ids)
        case _:
            return css(text, test_ids) if text else None


def convert_selenium(locator: str) -> RankedSelector | None:  # noqa: PLR0911 - one case a kind of locator
    """Convert a Selenium IDE locator, `kind=value`; None if there is no equivalent."""
    if locator.startswith(("//", "(//")):
        return xpath(locator)
    kind, equals, value = locator.partition("=")
    if not equals or not value:
        return None
    match kind:
        case "id":
            return attribute("id", value)
        case "name":
            return attribute("name", value)
        case "css":
            return css(value)
        case "xpath":
            return xpath(value)
        case "linkText" | "link":
            return RankedSelector(text=f"a:text-is({quoted(value)})", rank=_TEXT)
        case "partialLinkText":
            return RankedSelector(text=f"a:has-text({quoted(value)})", rank=_TEXT)
        case "class" | "className":
            return css(f".{value}")
        case _:
            return None


def note_weak_selector(selector: RankedSelector, builder: MissionBuilder, step: int) -> None:
    """Note a selector that depends on position only."""
    if selector.is_weak:
        builder.add_note(step, f"the target {selector.text} is weak: it depends on position only")


def build_target(
    selector: RankedSelector,
    others: Iterable[RankedSelector],
    builder: MissionBuilder,
    step: int,
    frames: tuple[str, ...] = (),
) -> Target:
    """Return the target of a step, and note a weak selector."""
    note_weak_selector(selector, builder, step)
    alternatives = dict.fromkeys(each.text for each in others if each.text != selector.text)
    return Target(selector=selector.text, frames=frames, alternatives=tuple(alternatives))
