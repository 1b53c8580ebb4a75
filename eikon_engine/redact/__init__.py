"""Find undeclared secrets, replace them by stand-ins, and scan bundles for missed ones."""

from eikon_engine.redact.found import SecretDetector
from eikon_engine.redact.rules import RedactionRules

__all__ = ["SecretDetector", "RedactionRules"]
