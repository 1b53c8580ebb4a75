"""Find required fields that are missing in a file."""

from __future__ import annotations

from typing import Final

from eikon_engine.trace.record import FileModel

ADDED_FIELDS: Final = frozenset({"phase", "pieces"})
"""Fields that the first recordings did not have; a file has both or neither."""


def find_missing_field(record: FileModel) -> str | None:
    """Return the path of the first field that the file does not contain; None if it contains all.

    Defaults exist for code that creates records. Files contain every field, so a missing one means data loss.
    """
    optional = ADDED_FIELDS if record.model_fields_set.isdisjoint(ADDED_FIELDS) else frozenset()
    for name in type(record).model_fields:
        if name not in record.model_fields_set and name not in optional:
            return name
        value: object = getattr(record, name)
        inner = {name: value} if not isinstance(value, tuple) else {f"{name}.{n}": each for n, each in enumerate(value)}
        for path, each in inner.items():
            missing = find_missing_field(each) if isinstance(each, FileModel) else None
            if missing is not None:
                return f"{path}.{missing}"
    return None
