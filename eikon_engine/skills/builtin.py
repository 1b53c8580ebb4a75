"""The skills that come with Eikon."""

from __future__ import annotations

from eikon_engine.skills.detect_login_form import DetectLoginForm
from eikon_engine.skills.extract_listing import ExtractListing
from eikon_engine.skills.extract_table import ExtractTable
from eikon_engine.skills.registry import SkillRegistry


def default_skills() -> SkillRegistry:
    """Return the registry of the built-in skills."""
    return SkillRegistry.of(DetectLoginForm(), ExtractListing(), ExtractTable())
