"""The base of every value that is written to a file."""

from __future__ import annotations

import math
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue


class Record(BaseModel):
    """Be frozen, strict and closed: what a file holds is exactly what the model says."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


MAX_DEPTH: Final = 100
"""Levels of lists and objects in one JSON value; the parser ends at 200 for the whole file."""
_SIMPLE: Final = frozenset({str, int, bool, type(None)})


def _readable(value: JsonValue) -> JsonValue:
    """Refuse what would not read back: numbers that the writer turns into null, and nesting the parser refuses."""
    level: list[JsonValue] = [value]
    depth = 0
    while level:
        below: list[JsonValue] = []
        for item in level:
            if isinstance(item, dict):
                members = list(item.values())
            elif isinstance(item, list):
                members = item
            elif isinstance(item, float) and not math.isfinite(item):
                message = f"wanted finite numbers, found {item}; use null"
                raise ValueError(message)
            else:
                continue
            if members and depth == MAX_DEPTH:
                message = f"wanted at most {MAX_DEPTH} levels of lists and objects, found more"
                raise ValueError(message)
            below += [member for member in members if type(member) not in _SIMPLE]
        level = below
        depth += 1
    return value


FiniteJson: TypeAlias = Annotated[JsonValue, AfterValidator(_readable)]
"""A JSON value that reads back as it was written: no NaN, no infinity, no endless nesting."""
