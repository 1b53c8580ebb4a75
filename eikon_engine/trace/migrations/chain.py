"""Migrate older trace formats, one version at a time.

Each function in `STEPS` is pure and maps the plain data of one version to that of the next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.trace.execution import TRACE_VERSION
from eikon_engine.trace.migrations.v3_1 import migrate_v3_1

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from eikon_engine.trace.migrations.plain import JsonObject

MIGRATIONS: Final[Mapping[int | str, Callable[[JsonObject, str], JsonObject]]] = {"v3.1": migrate_v3_1}
"""Migration to the next version by older version; its arguments are the data and the name of the file."""

READABLE_VERSIONS: Final[tuple[int | str, ...]] = (*MIGRATIONS, TRACE_VERSION)


def migrate(plain: JsonObject, source: str) -> JsonObject:
    """Migrate plain data of an older version to the current one; the version must be in `STEPS`.

    Raises:
        TraceFieldError: a field of the older format is missing, unknown or invalid.
    """
    while (version := plain["trace_version"]) != TRACE_VERSION:
        assert isinstance(version, (int, str))  # noqa: S101 - the caller has checked the version
        plain = MIGRATIONS[version](plain, source)
    return plain
