"""Find required fields that are missing in a file."""

from __future__ import annotations

from typing import Final

from eikon_engine.trace.record import Record

OLDER: Final = frozenset({"phase", "pieces"})
"""Fields that the first recordings did not have; a file has both or neither."""


def left_out(record: Record) -> str | None:
    """Return the path of the first field that the file does not contain; None if it contains all.

    Defaults exist for code that creates records. Files contain every field, so a missing one means data loss.
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
