"""Selectors of other tools, written as Playwright reads them, and how well each names an element.

Playwright: https://playwright.dev/docs/other-locators, Puppeteer and the DevTools Recorder:
https://pptr.dev/guides/page-interactions#selectors, Selenium IDE: https://www.selenium.dev/selenium-ide/docs/en/api/arguments
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

TEST_IDS: Final = ("data-testid", "data-test-id", "data-test", "data-cy", "data-qa")
_POSITIONAL: Final = re.compile(r":nth-|:(first|last|only)-(child|of-type)|\[\d+\]|\bnth=")
_ONLY_ID: Final = re.compile(r"#[\w-]+")
_ARIA: Final = re.compile(r"""(?P<name>.*?)(?:\[\s*role\s*=\s*["'](?P<role>\w+)["']\s*\])?""", re.DOTALL)
_NOT_CSS: Final = ("/", "(", "..", '"', "'")
"""Beginnings by which Playwright takes a selector for XPath or a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """A selector of Playwright."""

    text: str
    rank: int
    """The lower, the better it names an element; see `_rank`."""

    @property
    def is_weak(self) -> bool:
        """Whether it finds an element by its place alone."""
        return self.rank >= _WEAK


_TEST_ID, _ROLE, _ID, _CSS, _TEXT, _XPATH, _WEAK, _WEAK_XPATH = range(8)


def best(selectors: Iterable[Converted]) -> Converted | None:
    """Return the one that names an element best, the first of equals."""
    return min(selectors, key=lambda each: each.rank, default=None)


def positional(text: str) -> int:
    """Return the rank of a selector of Playwright: it is weak where it finds an element by its place alone."""
    return _WEAK if _POSITIONAL.search(text) else _CSS


def css(text: str, test_ids: Sequence[str] = TEST_IDS) -> Converted:
    """Take a CSS selector; open shadow roots are looked into, as by `pierce/`."""
    written = f"css={text}" if text.startswith(_NOT_CSS) or "=" in text.split("[", maxsplit=1)[0] else text
    if _POSITIONAL.search(text):
        return Converted(text=written, rank=_WEAK)
    if any(f"[{name}" in text for name in test_ids):
        return Converted(text=written, rank=_TEST_ID)
    return Converted(text=written, rank=_ID if _ONLY_ID.fullmatch(text) else _CSS)


def xpath(text: str) -> Converted:
    """Take an XPath expression."""
    absolute = text.startswith("/") and not text.startswith("//")
    return Converted(text=f"xpath={text}", rank=_WEAK_XPATH if absolute or _POSITIONAL.search(text) else _XPATH)


def role(name: str, of: str) -> Converted:
    """Take a role and an accessible name, both exact."""
    return Converted(text=f"role={of}[name={quoted(name)}]" if name else f"role={of}", rank=_ROLE if name else _WEAK)


def containing(text: str) -> Converted:
    """Take a text that the smallest element holds somewhere, in any case."""
    return Converted(text=f"text={text}", rank=_TEXT)


def attribute(name: str, value: str, *, tag: str = "") -> Converted:
    """Take the value of an attribute; an `id` is as good as one written with `#`, whatever it holds."""
    found = css(f"{tag}[{name}={quoted(value)}]")
    return replace(found, rank=_ID) if name == "id" else found


def quoted(text: str) -> str:
    """Write a string of a selector."""
    return json.dumps(text, ensure_ascii=False)


def from_devtools(selector: str | Sequence[str], test_ids: Sequence[str]) -> Converted | None:
    """Convert one selector of a DevTools recording; a list leads through shadow roots. None if there is no such one."""
    parts = [selector] if isinstance(selector, str) else list(selector)
    converted = [_part(part, test_ids) for part in parts]
    known = [each for each in converted if each is not None]
    if not known or len(known) != len(parts):
        return None
    return Converted(text=" >> ".join(each.text for each in known), rank=max(each.rank for each in known))


def _part(text: str, test_ids: Sequence[str]) -> Converted | None:
    kind, slash, rest = text.partition("/")
    match kind if slash else "":
        case "aria":
            found = _ARIA.fullmatch(rest)
            return role(found["name"], found["role"]) if found is not None and found["role"] else None
        case "xpath":
            return xpath(rest)
        case "text":
            return containing(rest)
        case "pierce":
            return css(rest, test_ids)
        case _:
            return css(text, test_ids) if text else None


def from_selenium(locator: str) -> Converted | None:  # noqa: PLR0911 - one case a kind of locator
    """Convert a locator of Selenium IDE, `kind=value`; None if there is no such one."""
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
            return Converted(text=f"a:text-is({quoted(value)})", rank=_TEXT)
        case "partialLinkText":
            return Converted(text=f"a:has-text({quoted(value)})", rank=_TEXT)
        case "class" | "className":
            return css(f".{value}")
        case _:
            return None
