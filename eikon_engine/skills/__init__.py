"""Skills: deterministic functions of a stored page, its URL and parameters."""

from eikon_engine.skills.builtin import default_skills
from eikon_engine.skills.document import Document
from eikon_engine.skills.parameters import Parameters
from eikon_engine.skills.protocol import Skill, SkillInput
from eikon_engine.skills.registry import SkillRegistry
from eikon_engine.skills.typed_skill import Output, TypedSkill

__all__ = ["Document", "Output", "Parameters", "Skill", "SkillInput", "SkillRegistry", "TypedSkill", "default_skills"]
