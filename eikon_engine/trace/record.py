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


def _readable(value: JsonValue) -> JsonValue:
    """Refuse what would not read back: numbers that the writer turns into null, and nesting the parser refuses."""
    pending: list[tuple[int, JsonValue]] = [(0, value)]
    while pending:
        depth, item = pending.pop()
        if depth > MAX_DEPTH:
            message = f"wanted at most {MAX_DEPTH} levels of lists and objects, found more"
            raise ValueError(message)
        if isinstance(item, dict):
            pending.extend((depth + 1, member) for member in item.values())
        elif isinstance(item, list):
            pending.extend((depth + 1, element) for element in item)
        elif isinstance(item, float) and not math.isfinite(item):
            message = f"wanted finite numbers, found {item}; use null"
            raise ValueError(message)
    return value


FiniteJson: TypeAlias = Annotated[JsonValue, AfterValidator(_readable)]
"""A JSON value that reads back as it was written: no NaN, no infinity, no endless nesting."""
