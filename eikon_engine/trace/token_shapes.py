"""Known token formats: secrets recognizable by their form, whatever they are called.

Sources: RFC 7519 (JWT); the documentation of token formats of GitHub, GitLab, Slack, Stripe, OpenAI, Google, AWS, npm.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token in a text and its secret part."""

    kind: str
    secret: str = field(repr=False)
    token_start: int
    """Start of the token."""
    secret_start: int
    end: int
    """Start and end of its secret part."""


@dataclass(frozen=True, slots=True)
class _TokenFormat:
    kind: str
    prefixes: tuple[str, ...]
    """Fixed prefixes, searched first because that is fast."""
    pattern: re.Pattern[str]
    """Its only group is the secret part."""


def _token_format(kind: str, begins: str, pattern: str) -> _TokenFormat:
    return _TokenFormat(kind, tuple(begins.split()), re.compile(pattern))


TOKEN_FORMATS: Final = (
    _token_format("JWT", "eyJ", r"eyJ[\w-]{5,2048}\.[\w-]{2,65536}\.([\w-]{16,2048})(?:\.[\w-]{1,65536}){0,2}"),
    _token_format("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_([A-Za-z0-9]{20,255})"),
    _token_format("GitHub token", "github_pat_", r"github_pat_(\w{22,255})"),
    _token_format("GitLab token", "glpat-", r"glpat-([\w-]{20,})"),
    _token_format("Slack token", "xox", r"xox[abeoprs]-([\w-]{10,})"),
    _token_format("Stripe key", "k_live_ k_test_", r"[rs]k_(?:live|test)_([A-Za-z0-9]{16,})"),
    _token_format("API key", "sk-", r"(?<![\w-])sk-(?:[a-z]+-)*([A-Za-z0-9_]{20,})"),
    _token_format("Google API key", "AIza", r"AIza([\w-]{35})"),
    _token_format("Google access token", "ya29.", r"ya29\.([\w-]{20,})"),
    _token_format("AWS access key", "AKIA ASIA", r"(?<![A-Z0-9])A[KS]IA([A-Z0-9]{16})(?![A-Z0-9])"),
    _token_format("npm token", "npm_", r"npm_([A-Za-z0-9]{36})"),
)
PRIVATE_KEY: Final = re.compile(
    r"-----BEGIN (?:[A-Z ]+ )?PRIVATE KEY-----((?:[A-Za-z0-9+/=\s]|\\n){64,16384}?)-----END"
)


def find_tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of known formats in a text."""
    for shape in TOKEN_FORMATS:
        yield from _find_format(shape, text)


def _find_format(shape: _TokenFormat, text: str) -> Iterator[Token]:
    """Search for the prefixes first: searching a fixed text is much faster than searching a pattern."""
    for begin in shape.prefixes:
        place = text.find(begin)
        while place >= 0:
            found = shape.pattern.match(text, place) or shape.pattern.match(text, max(0, place - 1))
            if found is not None:
                yield Token(
                    kind=shape.kind,
                    secret=found[1],
                    token_start=found.start(),
                    secret_start=found.start(1),
                    end=found.end(1),
                )
            place = text.find(begin, max(place + len(begin), found.end() if found is not None else 0))
