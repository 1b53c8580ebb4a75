from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from pydantic import BaseModel

from tests.architecture.sources import module_names

if TYPE_CHECKING:
    from collections.abc import Iterator


def test_models_are_frozen_strict_and_closed() -> None:
    """Every pydantic model of ours refuses changes, conversions of types and unknown fields."""
    for name in module_names():
        import_module(name)

    open_ones = [
        f"{model.__module__}.{model.__name__}"
        for model in _models(BaseModel)
        if model.__module__.startswith("eikon_engine.")
        and _is_written(model)
        and not (
            model.model_config.get("frozen")
            and model.model_config.get("strict")
            and model.model_config.get("extra") == "forbid"
        )
    ]

    assert open_ones == []


def _is_written(model: type[BaseModel]) -> bool:
    """Return whether the model is defined in its module: models of tool arguments are created at run time."""
    return "." in model.__qualname__ or getattr(import_module(model.__module__), model.__name__, None) is model


def _models(cls: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for subclass in cls.__subclasses__():
        yield subclass
        yield from _models(subclass)
