"""Find undeclared secrets, replace them by stand-ins, and scan bundles for missed ones.

Public names are imported lazily, since a replay finds no new secrets.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eikon_engine.redact.secret_detector import SecretDetector
    from eikon_engine.secrets.search import RedactionRules

__all__ = ["RedactionRules", "SecretDetector"]

_MODULES = {
    "RedactionRules": "eikon_engine.secrets.search",
    "SecretDetector": "eikon_engine.redact.secret_detector",
}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
