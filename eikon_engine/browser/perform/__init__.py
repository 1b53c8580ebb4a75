"""Perform one action: one match, one try."""

from eikon_engine.browser.perform.dispatch import perform

__all__ = ["perform"]
