"""File names that are valid UTF-8.

On Linux a name can be any bytes; only text can be sent to a model and written to the session.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import UsageError
from eikon_engine.trace.wording import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterable

_NAMES_SHOWN = 3


def is_utf8(name: str) -> bool:
    """Return whether a name is UTF-8; other bytes appear in it as lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def require_utf8(option: str, value: str) -> None:
    """Check that an option value is valid text for JSON and for process arguments.

    Raises:
        UsageError: it is not.
    """
    if not is_utf8(value):
        message = f"{option}: expected UTF-8 text, got {value!r}. Rename it."
        raise UsageError(message)
    if "\0" in value:
        message = f"{option}: expected text without null bytes, got {value!r}."
        raise UsageError(message)


def non_utf8_warnings(files: Iterable[str]) -> tuple[str, ...]:
    """Return a warning if there are file names that are not UTF-8."""
    found = [repr(each) for each in files if not is_utf8(each)]
    if not found:
        return ()
    shown = ", ".join(found[:_NAMES_SHOWN]) + (", …" if len(found) > _NAMES_SHOWN else "")
    return (f"{pluralize(len(found), 'file')} with a non-UTF-8 name cannot be shown to the model: {shown}",)
