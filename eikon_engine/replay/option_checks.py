"""Check option values when the options are created, so that an invalid one fails at once and clearly."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final, NoReturn, get_args

from eikon_engine.errors import UsageError
from eikon_engine.files.origins import parse_origin

_MAX_INTEGER: Final = 2**63 - 1
_DIGEST: Final = re.compile(r"[0-9a-fA-F]{64}")


class OptionChecks:
    """Check the fields of one frozen options object; each check names the field and its class in its error."""

    def __init__(self, options: object) -> None:
        """Check the fields of `options`."""
        self._options = options

    def check_choices(self, **literals: object) -> None:
        """Require one of the values of the `Literal` type that is given for each field."""
        for name, literal in literals.items():
            value, choices = getattr(self._options, name), [str(each) for each in get_args(literal)]
            if value in choices:
                continue
            near = get_close_matches(str(value).lower(), choices, n=1) if isinstance(value, str) else []
            advice = f"Did you mean {near[0]!r}?" if near else "Use one of these."
            self._refuse(name, " or ".join(map(repr, choices)), value, advice)

    def check_flags(self, *names: str) -> None:
        """Require True or False."""
        for name in names:
            if not isinstance(value := getattr(self._options, name), bool):
                self._refuse(name, "True or False", value, "Pass a bool.")

    def check_integer(self, name: str, *, minimum: int, maximum: int = _MAX_INTEGER, advice: str) -> None:
        """Require an integer from `minimum` to `maximum`."""
        value = getattr(self._options, name)
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            limit = f"of at least {minimum}" if maximum == _MAX_INTEGER else f"from {minimum} to {maximum}"
            self._refuse(name, f"an integer {limit}", value, advice)

    def check_duration(self, name: str, unit: str, *, advice: str, allows_zero: bool = False) -> None:
        """Require a finite number above 0, or of at least 0."""
        value = getattr(self._options, name)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= sys.float_info.max or (value == 0 and not allows_zero):
            limit = "of at least 0" if allows_zero else "above 0"
            self._refuse(name, f"a finite number of {unit} {limit}", value, advice)

    def check_digest(self, name: str) -> None:
        """Require the hex digits of a SHA-256."""
        value = getattr(self._options, name)
        if not isinstance(value, str) or not _DIGEST.fullmatch(value):
            self._refuse(name, "the 64 hex digits of a SHA-256", value, "Copy it from the outcome of an earlier run.")

    def check_text(self, name: str) -> None:
        """Require a string."""
        if not isinstance(value := getattr(self._options, name), str):
            self._refuse(name, "a string", value, "Pass a str.")

    def check_text_mappings(self, *names: str) -> None:
        """Require mappings of strings to strings; values are not shown, because they may be secrets."""
        for name in names:
            value = getattr(self._options, name)
            if not isinstance(value, Mapping):
                self._refuse(name, "a mapping of strings to strings", type(value).__name__, "Pass a dict.", shown=False)
            for key, each in value.items():
                if not isinstance(key, str):
                    self._refuse(name, "strings as names", key, "Use a string as name.")
                if not isinstance(each, str):
                    found = f"{type(each).__name__} for {key!r}"
                    self._refuse(name, "strings as values", found, "Pass the value as text.", shown=False)

    def check_names(self, name: str, *, advice: str) -> None:
        """Require that the names of a mapping are identifiers."""
        for key in getattr(self._options, name):
            if not key.isidentifier():
                self._refuse(name, "identifiers as names", key, advice)

    def check_instance(self, name: str, kind: type, *, advice: str) -> None:
        """Require an instance of a class."""
        if not isinstance(value := getattr(self._options, name), kind):
            self._refuse(name, f"an instance of {kind.__name__}", value, advice)

    def check_method(self, name: str, method: str, *, advice: str) -> None:
        """Require an object with a method, and not its class."""
        value = getattr(self._options, name)
        if isinstance(value, type) or not callable(getattr(value, method, None)):
            self._refuse(name, f"an object with a method {method}()", value, advice)

    def check_callables(self, *names: str) -> None:
        """Require functions or other callables."""
        for name in names:
            if not callable(value := getattr(self._options, name)):
                self._refuse(name, "a function", value, "Pass a callable.")

    def convert_items(self, name: str, accepts: Callable[[object], bool], items: str) -> None:
        """Require a tuple or list of accepted items, described by `items`; convert it to a tuple."""
        value = getattr(self._options, name)
        if not isinstance(value, tuple | list):
            self._refuse(name, f"a tuple of {items}", value, "Pass a tuple, also for a single one.")
        for each in value:
            if not accepts(each):
                self._refuse(name, items, each, "Correct or remove this item.")
        object.__setattr__(self._options, name, tuple(value))

    def convert_origins(self, name: str) -> None:
        """Require a mapping of strings to tuples or lists of origins, and convert these to tuples, as `url_origin`."""
        value = getattr(self._options, name)
        if not isinstance(value, Mapping):
            self._refuse(name, "a mapping of names to tuples of origins", value, "Pass a dict.")
        where = f"{type(self._options).__name__}.{name}"
        for each in value.values():
            if not isinstance(each, tuple | list) or not all(isinstance(origin, str) for origin in each):
                self._refuse(name, "tuples of origins", each, "Pass a tuple, also for a single one.")
        converted = {key: tuple(parse_origin(each, where) for each in origins) for key, origins in value.items()}
        object.__setattr__(self._options, name, converted)

    def convert_paths(self, *names: str) -> None:
        """Require paths, as text or path objects, and convert them to `Path`; None stays None."""
        for name in names:
            value = getattr(self._options, name)
            if value is None:
                continue
            plain = os.fspath(value) if isinstance(value, str | os.PathLike) else None
            if not isinstance(plain, str) or not plain or "\0" in plain:
                self._refuse(name, "a path", value, "Pass a str or a pathlib.Path.")
            object.__setattr__(self._options, name, Path(plain))

    def _refuse(self, name: str, expected: str, found: object, advice: str, *, shown: bool = True) -> NoReturn:
        text = _short_repr(found) if shown else str(found)
        message = f"{type(self._options).__name__}.{name}: expected {expected}, got {text}. {advice}"
        raise UsageError(message)


_MAX_SHOWN: Final = 80


def _short_repr(value: object) -> str:
    if isinstance(value, int) and abs(value) > _MAX_INTEGER:
        return "a number of more than 19 digits"  # Python refuses to write those of more than 4300 digits
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
