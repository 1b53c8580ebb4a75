"""Suites: the configuration of a project, and many bundles replayed with it.

Public names are imported lazily: most replays have no configuration, and should not import its models.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.suite.configuration import (
        BundleSettings,
        Configuration,
        QuarantinedMission,
        ReplaySettings,
        SecretSource,
        read_configuration,
    )
    from eikon_engine.suite.configuration_search import find_configuration, searched_folders

__all__ = [
    "BundleSettings",
    "Configuration",
    "QuarantinedMission",
    "ReplaySettings",
    "SecretSource",
    "find_configuration",
    "read_configuration",
    "searched_folders",
]

_MODULES = {
    "BundleSettings": "eikon_engine.suite.configuration",
    "Configuration": "eikon_engine.suite.configuration",
    "QuarantinedMission": "eikon_engine.suite.configuration",
    "ReplaySettings": "eikon_engine.suite.configuration",
    "SecretSource": "eikon_engine.suite.configuration",
    "find_configuration": "eikon_engine.suite.configuration_search",
    "read_configuration": "eikon_engine.suite.configuration",
    "searched_folders": "eikon_engine.suite.configuration_search",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
