"""The published schema of scenarios equals that of the models, and scenarios conform to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from eikon_engine.cli.schema import schema_command
from eikon_engine.files.yaml import read_yaml
from eikon_engine.scenario.check import available_tools, check_scenario
from eikon_engine.scenario.model import read_scenario, scenario_schema
from eikon_engine.scenario.tool_box import ToolBox
from eikon_engine.skills import default_skills
from eikon_engine.trace.schema import render_schema
from scenarios.counting import count_lines
from tests.scenario.test_must_show import SCENARIO

ROOT = Path(__file__).parents[2]
VALIDATOR = Draft202012Validator(scenario_schema())


def test_the_published_schema_is_the_one_of_the_models() -> None:
    """The published schema equals that of the models."""
    published = (ROOT / "docs/scenario.schema.json").read_text()

    Draft202012Validator.check_schema(scenario_schema())
    assert published == render_schema(scenario_schema())
    assert CliRunner().invoke(schema_command, ["scenario"]).stdout == published


def test_the_example_scenario_is_one() -> None:
    """The example scenario is valid."""
    file = read_scenario(ROOT / "scenarios/release_notes.yaml")

    check_scenario(file, available_tools(file, ToolBox.of(count_lines)), default_skills)
    assert list(VALIDATOR.iter_errors(file.text.data)) == []


@pytest.mark.parametrize("name", ["scenario", "docs"])
def test_scenarios_fit_the_schema(name: str) -> None:
    """Valid scenarios conform to the schema."""
    docs = (ROOT / "docs/scenarios.md").read_text()
    text = SCENARIO if name == "scenario" else docs.split("```yaml\n")[1].split("```")[0]

    assert [error.message for error in VALIDATOR.iter_errors(read_yaml(text, name).data)] == []
