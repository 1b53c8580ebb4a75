"""Find undeclared secrets, replace them by stand-ins, and scan bundles for missed ones."""

from eikon_engine.redact.secret_detector import SecretDetector
from eikon_engine.secrets.search import RedactionRules

__all__ = ["RedactionRules", "SecretDetector"]
