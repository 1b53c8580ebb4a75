"""Skills: pure functions of a stored page."""

from eikon_engine.skills.builtin import default_skills
from eikon_engine.skills.protocol import Skill, SkillInput
from eikon_engine.skills.registry import SkillRegistry

__all__ = ["Skill", "SkillInput", "SkillRegistry", "default_skills"]
