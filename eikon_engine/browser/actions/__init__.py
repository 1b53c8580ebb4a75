"""Perform one action: one match, one try."""

from eikon_engine.browser.actions.perform import perform

__all__ = ["perform"]
