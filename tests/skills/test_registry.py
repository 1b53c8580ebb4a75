"""The registry of skills."""

from __future__ import annotations

import pytest

from eikon_engine.errors import RequirementError, UsageError
from eikon_engine.files.json_text import JsonValue, canonical_json
from eikon_engine.skills import Output, Parameters, Skill, SkillInput, SkillRegistry, default_skills
from eikon_engine.skills.installed_skills import find_skill_defect
from eikon_engine.skills.registry import BUILT_IN_SKILLS
from tests.error_codes import has_code


class NoParameters(Parameters):
    """A parameter model without fields."""


class Length(Output):
    """The length of a page."""

    characters: int


class TitleLength:
    """A third-party skill."""

    name = "title_length"
    version = 1
    description = "Count the characters of a page."
    parameters = NoParameters
    output = Length

    def run(self, page: SkillInput) -> JsonValue:
        """Return the number of characters."""
        return {"characters": len(page.html)}


def test_default_skills_are_the_built_in_ones() -> None:
    """The registry holds each built-in skill under its own name, sorted by name."""
    registry = default_skills()

    assert registry.names == BUILT_IN_SKILLS
    assert [registry.get(name).name for name in registry.names] == list(registry.names)
    assert [skill.name for skill in registry] == list(registry.names)
    assert len(registry) == len(BUILT_IN_SKILLS)


@pytest.mark.parametrize("skill", tuple(default_skills()), ids=lambda skill: skill.name)
def test_every_built_in_skill_is_whole(skill: Skill) -> None:
    """Each has a version, a one-line description, models with a schema, and a valid example output."""
    assert find_skill_defect(skill, skill.name) is None
    assert skill.parameters.model_json_schema()["additionalProperties"] is False
    assert skill.output.model_json_schema(mode="serialization")["type"] == "object"
    example: SkillInput | None = getattr(skill, "example", None)
    assert example is not None or skill.name == "ask_page"
    if example is not None:
        skill.output.model_validate_json(canonical_json(skill.run(example)))


def test_unknown_skill_names_the_known_ones_and_the_nearest() -> None:
    """The error lists the known names."""
    with pytest.raises(RequirementError, check=has_code("unknown-skill")) as raised:
        default_skills().get("extract_tabel")

    assert raised.value.message == (
        f"unknown skill 'extract_tabel'. Known skills: {', '.join(BUILT_IN_SKILLS)}; did you mean extract_table?"
    )


def test_unknown_skill_without_a_likeness_gives_no_hint() -> None:
    """Without a similar name nothing is suggested."""
    with pytest.raises(
        RequirementError, match="Known skills: none; register it or correct the name", check=has_code("unknown-skill")
    ):
        SkillRegistry.of().get("zzz")


def test_extended_returns_a_new_registry() -> None:
    """Adding a skill does not change the registry."""
    before = default_skills()

    after = before.extended(TitleLength())

    assert "title_length" not in before.names
    assert after.get("title_length").run(SkillInput(html="abc", url="https://site.example/")) == {"characters": 3}


def test_a_name_given_twice_is_refused() -> None:
    """Two skills with one name are an error; the later one does not replace the first."""
    with pytest.raises(UsageError, match="'title_length' is registered twice"):
        SkillRegistry.of(TitleLength(), TitleLength())
