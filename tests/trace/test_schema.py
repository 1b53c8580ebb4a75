from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from jsonschema import Draft202012Validator

from eikon_engine.cli.schema import schema_command
from eikon_engine.trace.execution import ExecutionTrace
from eikon_engine.trace.schema import render_schema, trace_schema
from eikon_engine.trace.trace_file import read_trace, serialize_trace
from tests.trace.trace_values import action, subgoal, trace, traces

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "traces"
TRACES = sorted((*DATA.glob("*/trace.json"), *DATA.glob("v3_1_samples/*.json")))
VALIDATOR = Draft202012Validator(trace_schema())


def _faults(data: bytes) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(json.loads(data))]


def test_the_published_schema_is_the_one_of_the_models() -> None:
    """`docs/trace.schema.json` equals the output of `eikon schema`."""
    assert (ROOT / "docs" / "trace.schema.json").read_text() == render_schema()


def test_the_schema_is_one() -> None:
    """The schema is itself valid, and has a title."""
    Draft202012Validator.check_schema(trace_schema())

    assert trace_schema()["$id"] == "urn:eikon-engine:trace:4"


@pytest.mark.parametrize("path", TRACES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_stored_trace_fits_the_schema(path: Path) -> None:
    """All traces in the repository, after migration, conform to the published schema."""
    assert _faults(serialize_trace(read_trace(path))) == []


@settings(max_examples=30, deadline=None)
@given(traces())
def test_every_trace_we_can_write_fits_the_schema(value: ExecutionTrace) -> None:
    """Every trace that the models allow conforms to the schema."""
    assert _faults(serialize_trace(value)) == []


def test_the_schema_refuses_what_the_parser_refuses() -> None:
    """The schema rejects an unknown field, a missing version and an action without a type."""
    plain = json.loads(serialize_trace(trace(subgoal_traces=(subgoal(actions_taken=(action(1),)),))))
    step = plain["subgoal_traces"][0]["actions_taken"][0]

    for broken in (
        plain | {"speed": 1},
        {name: value for name, value in plain.items() if name != "trace_version"},
        plain | {"subgoal_traces": [plain["subgoal_traces"][0] | {"actions_taken": [step | {"action": {"url": "x"}}]}]},
    ):
        assert _faults(json.dumps(broken).encode())


def test_the_command_prints_and_writes_the_schema(tmp_path: Path) -> None:
    """`eikon schema` prints the schema, and `--output` writes it."""
    assert CliRunner().invoke(schema_command).stdout == render_schema()

    CliRunner().invoke(schema_command, ["--output", str(tmp_path / "schema.json")])
    assert (tmp_path / "schema.json").read_text() == render_schema()
