"""The published schemas of outcomes and triages are those of the models, and fit what is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from eikon_engine.cli.schema import schema_command
from eikon_engine.outcome.outcomes import outcome_schema
from eikon_engine.outcome.triage import triage_schema
from eikon_engine.trace.schema import render_schema
from eikon_engine.triage.groups import triage
from tests.report.outcomes import make_outcome
from tests.triage.test_groups import NIGHT

if TYPE_CHECKING:
    from eikon_engine.files.models import FileModel

DOCS = Path(__file__).parents[2] / "docs"
WRITTEN = {
    "outcome": (outcome_schema(), make_outcome(), "verdict"),
    "triage": (triage_schema(), triage(NIGHT.items()), "groups"),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_the_published_schema_is_the_one_of_the_models(name: str) -> None:
    """It is also what `eikon schema` prints, and a valid schema."""
    published = (DOCS / f"{name}.schema.json").read_text(encoding="utf-8")
    schema, _, _ = WRITTEN[name]

    Draft202012Validator.check_schema(schema)
    assert published == render_schema(schema)
    assert CliRunner().invoke(schema_command, [name]).stdout == published


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_fits_the_schema(name: str) -> None:
    """Without a field that it needs, with one that it does not know, or of another version, it does not."""
    schema, written, needed = WRITTEN[name]
    plain = _plain(written)

    assert _faults(schema, plain) == []
    assert _faults(schema, plain | {"speed": 1}) != []
    assert _faults(schema, {key: value for key, value in plain.items() if key != needed}) != []
    assert _faults(schema, plain | {f"{name}_version": 2}) != []


def _plain(written: FileModel) -> dict[str, object]:
    return dict(json.loads(written.model_dump_json()))


def _faults(schema: dict[str, object], plain: dict[str, object]) -> list[str]:
    return [error.message for error in Draft202012Validator(schema).iter_errors(plain)]
