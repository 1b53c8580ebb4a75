"""The skills that come with Eikon, and those that other distributions bring."""

from __future__ import annotations

from eikon_engine.skills.detect_login_form import DetectLoginForm
from eikon_engine.skills.extract_listing import ExtractListing
from eikon_engine.skills.extract_table import ExtractTable
from eikon_engine.skills.installed import InstalledSkills
from eikon_engine.skills.registry import SkillRegistry

BUILT_IN = (DetectLoginForm(), ExtractListing(), ExtractTable())


def default_skills() -> SkillRegistry:
    """Return the registry of the built-in skills, and of those of installed distributions once they are asked for."""
    return SkillRegistry.of(*BUILT_IN, installed=InstalledSkills())
