"""Render the list of skills and the details of one skill."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

from eikon_engine.outcome.terminal import escape_control_characters, safe_lines
from eikon_engine.skills import default_skills
from eikon_engine.skills.installed_skills import InstalledSkill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.files.json_text import JsonValue
    from eikon_engine.skills.skill import Skill, SkillInput

BUILT_IN_ORIGIN: Final = "built-in"


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRow:
    """One row of the list of skills."""

    name: str
    version: int
    origin: str
    description: str


def list_skills() -> tuple[tuple[SkillRow, ...], tuple[str, ...]]:
    """Return all usable skills, and messages on the broken ones; imports all installed skills."""
    registry = default_skills()
    rows = tuple(
        SkillRow(name=each.name, version=each.version, origin=_origin_of(each), description=each.description)
        for each in registry
    )
    return rows, registry.errors


def render_skill_list(rows: Sequence[SkillRow], broken: Sequence[str], *, as_json: bool) -> str:
    """Render the list as a table, or as JSON including the broken skills."""
    if as_json:
        text = json.dumps(
            {"skills": [asdict(row) for row in rows], "broken": list(broken)}, ensure_ascii=False, indent=1
        )
        return f"{text}\n"
    name, origin = (max(len(getattr(row, part)) for row in rows) for part in ("name", "origin"))
    lines = (f"{row.name:{name}}  {row.version:>3}  {row.origin:{origin}}  {row.description}" for row in rows)
    return safe_lines(lines)


def render_skill(name: str, *, as_json: bool) -> str:
    """Render the details of a skill.

    Raises:
        RequirementError: no skill has this name.
        SkillBrokenError: the skill cannot be used.
    """
    skill = default_skills().get(name)
    example: SkillInput | None = getattr(skill, "example", None)
    schemas: dict[str, JsonValue] = {
        "parameters": skill.parameters.model_json_schema(),
        "output": skill.output.model_json_schema(mode="serialization"),
    }
    shown: dict[str, JsonValue] = {} if example is None else {"example": _example(skill, example)}
    if as_json:
        head: dict[str, JsonValue] = {
            "name": skill.name,
            "version": skill.version,
            "origin": _origin_of(skill),
            "description": skill.description,
        }
        return f"{_json({**head, **schemas, **shown})}\n"
    lines = [f"{skill.name}, version {skill.version}, {_origin_of(skill)}", skill.description]
    for title, value in {**schemas, **shown}.items():
        lines += ["", f"{title}:", _json(value)]
    return escape_control_characters("\n".join(lines)) + "\n"


def _example(skill: Skill, example: SkillInput) -> JsonValue:
    return {
        "html": example.html,
        "url": example.url,
        "parameters": dict(example.parameters),
        "output": skill.run(example),
    }


def _origin_of(skill: Skill) -> str:
    return skill.origin if isinstance(skill, InstalledSkill) else BUILT_IN_ORIGIN


def _json(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
