"""Base model of objects in foreign files."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, model_validator


class ForeignModel(BaseModel):
    """Base model: frozen and strict. Fields that an importer does not declare are dropped before validation."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _drop_unknown_fields(cls, data: object) -> object:
        """Keep the declared fields, and convert lists up to two levels deep to tuples, as strict mode requires."""
        if not isinstance(data, dict):
            return data
        return {name: _as_tuples(value) for name, value in data.items() if name in cls.model_fields}


def unknown_fields(shape: type[ForeignModel], data: dict[str, object]) -> tuple[str, ...]:
    """Return the fields of an object that its model does not declare."""
    return tuple(name for name in data if name not in shape.model_fields)


def _as_tuples(value: object) -> object:
    if not isinstance(value, list):
        return value
    return tuple(tuple(each) if isinstance(each, list) else each for each in value)
