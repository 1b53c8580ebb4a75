"""Older trace formats, brought up to date one version at a time.

A step is a pure function from the plain data of one version to that of the next one in `STEPS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.trace.execution import TRACE_VERSION
from eikon_engine.trace.migrations.v3_1 import from_v3_1

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.trace.migrations.plain import Plain

STEPS: Final[Mapping[int | str, Callable[[Plain, str], Plain]]] = {"v3.1": from_v3_1}
"""For each older version the function that leads one version on; its arguments are the data and the file's name."""

READABLE_VERSIONS: Final[tuple[int | str, ...]] = (*STEPS, TRACE_VERSION)


def migrate(plain: Plain, source: str) -> Plain:
    """Bring plain data of an older version to this one; the caller has checked that the version is in `STEPS`.

    Raises:
        TraceFieldError: a field of the older format is missing, unknown or wrong.
    """
    while (version := plain["trace_version"]) != TRACE_VERSION:
        assert isinstance(version, (int, str))  # noqa: S101 - the caller has checked the version
        plain = STEPS[version](plain, source)
    return plain
