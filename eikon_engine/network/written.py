"""What a file left out that is always written."""

from __future__ import annotations

from typing import Final

from eikon_engine.trace.record import Record

OLDER: Final = frozenset({"phase", "pieces"})
"""Fields that the first recordings of exchanges did not have: both are given, or neither."""


def left_out(record: Record) -> str | None:
    """Name the first field that has its default because the file did not give it; None if all were given.

    Defaults are for programs that make a record; a file has every field, so that none is lost unnoticed.
    """
    optional = OLDER if record.model_fields_set.isdisjoint(OLDER) else frozenset()
    for name in type(record).model_fields:
        if name not in record.model_fields_set and name not in optional:
            return name
        value: object = getattr(record, name)
        inner = {name: value} if not isinstance(value, tuple) else {f"{name}.{n}": each for n, each in enumerate(value)}
        for path, each in inner.items():
            missing = left_out(each) if isinstance(each, Record) else None
            if missing is not None:
                return f"{path}.{missing}"
    return None
