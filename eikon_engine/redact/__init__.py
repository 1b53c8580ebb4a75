"""Find secrets that nobody named, put stand-ins in their place, and search bundles for what was missed."""

from eikon_engine.redact.found import FoundSecrets
from eikon_engine.redact.rules import RedactionRules

__all__ = ["FoundSecrets", "RedactionRules"]
