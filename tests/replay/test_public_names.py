"""The public names for replaying are the same in both packages."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import pytest

import eikon_engine
from eikon_engine import errors, replay, scenario

if TYPE_CHECKING:
    from types import ModuleType


@pytest.mark.parametrize("package", [eikon_engine, replay, scenario], ids=lambda package: package.__name__)
def test_every_public_name_is_found_and_listed(package: ModuleType) -> None:
    """Each name of `__all__` can be imported from its package and is listed by `dir()`."""
    for name in package.__all__:
        assert getattr(import_module(package.__name__), name).__name__ == name
    assert set(package.__all__) <= set(dir(package))


def test_both_packages_give_the_same_names_for_replaying() -> None:
    """What `eikon_engine.replay` exports, `eikon_engine` exports too, errors and outcomes included."""
    assert {name: getattr(eikon_engine, name) for name in replay.__all__} == {
        name: getattr(replay, name) for name in replay.__all__
    }
    assert {"ReplayEngine", "ReplayOptions", "ReplayError", "ReplayDivergenceError", "ReplayOutcome"} <= set(
        replay.__all__
    )
    assert replay.ReplayDivergenceError is errors.ReplayDivergenceError


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A misspelled name fails as on any module."""
    with pytest.raises(AttributeError, match=r"module 'eikon_engine\.replay' has no attribute 'ReplayEngin'"):
        _ = replay.ReplayEngin
