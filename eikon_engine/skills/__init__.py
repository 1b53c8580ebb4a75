"""Skills: deterministic functions of a stored page, its URL and parameters."""

from eikon_engine.skills.document import Document
from eikon_engine.skills.registry import SkillRegistry, default_skills
from eikon_engine.skills.skill import Output, Parameters, Skill, SkillInput, TypedSkill

__all__ = ["Document", "Output", "Parameters", "Skill", "SkillInput", "SkillRegistry", "TypedSkill", "default_skills"]
