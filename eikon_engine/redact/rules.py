"""User-defined rules for secrets, in addition to the built-in ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from eikon_engine.errors import UsageError
from eikon_engine.trace.secret_names import is_secret_name, is_secret_parameter

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class RedactionRules:
    """Additional rules for undeclared secrets, and exceptions."""

    names: tuple[str, ...] = ()
    """Names of cookies, headers, parameters, fields and keys with secret values; case-insensitive."""
    patterns: tuple[str, ...] = ()
    """Regular expressions of secret values; the first group counts, or the whole match without one."""
    keep: tuple[str, ...] = ()
    """Names whose values are never replaced, because a page computes with them; case-insensitive."""

    def __post_init__(self) -> None:
        """Validate the patterns.

        Raises:
            UsageError: a pattern is not a Python regular expression.
        """
        for pattern in self.patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                message = f"malformed redaction pattern {pattern!r}: {error}; expected a Python regular expression"
                raise UsageError(message) from error

    def is_secret(self, name: str, *, in_address: bool = False) -> bool:
        """Return whether values with this name are secret."""
        return _is_secret(self, name, in_address)

    def is_user_secret(self, name: str) -> bool:
        """Return whether a user rule lists the name: its values are secret whatever they look like."""
        return name.lower() in {each.lower() for each in self.names} and not self.is_exempt(name)

    def is_exempt(self, name: str) -> bool:
        """Return whether values with this name are never replaced."""
        return name.lower() in {each.lower() for each in self.keep}

    def find_matches(self, text: str) -> Iterator[str]:
        """Yield the parts of a text that match a pattern."""
        for pattern in self.patterns:
            for found in re.finditer(pattern, text):
                yield next((group for group in found.groups() if group), found[0])


@lru_cache(maxsize=1 << 16)
def _is_secret(rules: RedactionRules, name: str, in_address: bool) -> bool:  # noqa: FBT001 - part of the cache key
    """Cache the result by name: documents repeat names thousands of times."""
    if rules.is_exempt(name):
        return False
    return rules.is_user_secret(name) or (is_secret_parameter(name) if in_address else is_secret_name(name))
