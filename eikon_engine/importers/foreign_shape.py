"""The base of what is read of objects in foreign files."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, model_validator


class ForeignShape(BaseModel):
    """Be frozen, strict and closed; fields that the format has and an import has no use for are dropped before."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _known(cls, data: object) -> object:
        """Take the fields that are declared; lists in them, and in these, become the tuples that strictness wants."""
        if not isinstance(data, dict):
            return data
        return {name: _as_tuples(value) for name, value in data.items() if name in cls.model_fields}


def unknown_fields(shape: type[ForeignShape], data: dict[str, object]) -> tuple[str, ...]:
    """Return the names in an object that its shape does not know."""
    return tuple(name for name in data if name not in shape.model_fields)


def _as_tuples(value: object) -> object:
    if not isinstance(value, list):
        return value
    return tuple(tuple(each) if isinstance(each, list) else each for each in value)
