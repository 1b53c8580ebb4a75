"""What counts as a secret, beside what is built in."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from eikon_engine.errors import UsageError
from eikon_engine.trace.secret_names import is_secret_in_address, is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionRules:
    """More rules for secrets that nobody named, and exceptions."""

    names: tuple[str, ...] = ()
    """Names of cookies, headers, parameters, fields and keys whose values are secret; in any case."""
    patterns: tuple[str, ...] = ()
    """Regular expressions of secret values; the first group counts, or all of it where there is none."""
    keep: tuple[str, ...] = ()
    """Names whose values stay as they are, because a page computes with them; in any case."""

    def __post_init__(self) -> None:
        """Refuse patterns that are none.

        Raises:
            UsageError: a pattern is no regular expression of Python.
        """
        for pattern in self.patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                message = f"wanted a regular expression of secret values, found {pattern!r} ({error})"
                raise UsageError(message) from error

    def is_secret(self, name: str, *, in_address: bool = False) -> bool:
        """Say whether what goes by this name is secret."""
        return _is_secret(self, name, in_address)

    def is_listed(self, name: str) -> bool:
        """Say whether somebody named it: then its values are secret whatever they look like."""
        return name.lower() in {each.lower() for each in self.names} and not self.is_kept(name)

    def is_kept(self, name: str) -> bool:
        """Say whether what goes by this name stays as it is."""
        return name.lower() in {each.lower() for each in self.keep}

    def matches(self, text: str) -> Iterator[str]:
        """Yield the parts of a text that a pattern names."""
        for pattern in self.patterns:
            for found in re.finditer(pattern, text):
                yield next((group for group in found.groups() if group), found[0])


@lru_cache(maxsize=1 << 16)
def _is_secret(rules: RedactionRules, name: str, in_address: bool) -> bool:  # noqa: FBT001 - a key of the cache
    """Judge each name once: documents repeat them thousands of times."""
    if rules.is_kept(name):
        return False
    return rules.is_listed(name) or (is_secret_in_address(name) if in_address else is_secret_name(name))
