"""The base model of every value that is written to a file."""

from __future__ import annotations

import math
from typing import Annotated, Final, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue


class FileModel(BaseModel):
    """A frozen, strict model that forbids unknown fields."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


MAX_JSON_DEPTH: Final = 100
"""Maximum nesting of lists and objects in one JSON value; the parser allows 200 for a whole file."""
_SCALAR_TYPES: Final = frozenset({str, int, bool, type(None)})


def _check_readable(value: JsonValue) -> JsonValue:
    """Reject values that would not read back: non-finite numbers and nesting beyond the parser's limit."""
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
                message = f"expected finite numbers, got {item}; use null"
                raise ValueError(message)
            else:
                continue
            if members and depth == MAX_JSON_DEPTH:
                message = f"expected at most {MAX_JSON_DEPTH} levels of lists and objects, got more"
                raise ValueError(message)
            below += [member for member in members if type(member) not in _SCALAR_TYPES]
        level = below
        depth += 1
    return value


FiniteJson: TypeAlias = Annotated[JsonValue, AfterValidator(_check_readable)]
"""A JSON value that reads back as written: no NaN, no infinity, limited nesting."""
