"""Names of files that can be told: those that are UTF-8.

Any bytes can be a name on Linux; what is told to a model, and written to a session, has to be text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.errors import UsageError
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN = 3


def is_text(name: str) -> bool:
    """Say whether a name is UTF-8; what is not stands in it as lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def demand_text(option: str, value: str) -> None:
    """Make sure that the value of an option can be written to the session, and handed to a program.

    Raises:
        UsageError: it cannot.
    """
    if not is_text(value):
        message = f"{option}: wanted text in UTF-8, found {value!r}; name it otherwise"
        raise UsageError(message)
    if "\0" in value:
        message = f"{option}: wanted text that a program can be given, found a null byte in {value!r}; leave it out"
        raise UsageError(message)


def unreadable_names(files: Iterable[str]) -> tuple[str, ...]:
    """Return a warning if there are files whose names are not UTF-8."""
    found = [repr(each) for each in files if not is_text(each)]
    if not found:
        return ()
    shown = ", ".join(found[:_SHOWN]) + (", …" if len(found) > _SHOWN else "")
    return (f"{counted(len(found), 'file')} with a name that is not UTF-8 cannot be shown to a model: {shown}",)
