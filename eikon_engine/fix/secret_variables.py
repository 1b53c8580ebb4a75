"""Decide by name whether an environment variable is a secret.

Form fields follow other rules: `pwd` is a password there, and the working directory here.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.secret_names import is_secret_name

if TYPE_CHECKING:
    from collections.abc import Iterator

_PUBLIC_NAMES: Final = frozenset(
    {"PWD", "OLDPWD", "DESKTOP_SESSION", "GDMSESSION", "SESSION_MANAGER", "SESSIONNAME", "TOKENIZERS_PARALLELISM"}
)
"""Matching names that shells, desktops and libraries use for public values.

Source: https://pubs.opengroup.org/onlinepubs/9799919799/basedefs/V1_chap08.html, https://www.x.org/releases/current/doc/libSM/xsmp.html,
https://huggingface.co/docs/tokenizers
"""
_PUBLIC_PREFIX: Final = re.compile(r"(?:XDG|DBUS)_SESSION_")
"""Source: https://www.freedesktop.org/software/systemd/man/latest/pam_systemd.html"""
_LOCATION_SUFFIX: Final = re.compile(r"_(?:SOCK|SOCKET|FILE|DIR|PATH|HOME)$")
"""Suffixes of variables that hold the location of a secret: SSH_AUTH_SOCK, PASSWORD_STORE_DIR."""


_ASSIGNMENT: Final = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.+)", re.DOTALL)
_EXPANSION: Final = re.compile(r"\$\w+|\$\{\w+\}|\$\(.*\)|`.*`", re.DOTALL)
"""A value that the shell computes, so its text is not the secret."""


def is_secret_variable(name: str) -> bool:
    """Return whether the value of an environment variable is a secret."""
    upper = name.upper()
    if upper in _PUBLIC_NAMES or _PUBLIC_PREFIX.match(upper) or _LOCATION_SUFFIX.search(upper):
        return False
    return is_secret_name(name)


def assignments_in(command: str) -> Iterator[tuple[str, str]]:
    """Yield name and value of each variable that a command sets: as prefix, by `env`, or by `export`."""
    for word in _shell_words(command):
        found = _ASSIGNMENT.fullmatch(word)
        if found is not None and not _EXPANSION.fullmatch(found["value"]):
            yield found["name"], found["value"]


def _shell_words(command: str) -> list[str]:
    """Split a command as a shell does; at whitespace if a quote is unbalanced."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|()<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return list(lexer)
    except ValueError:
        return command.split()
