from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

from eikon_engine.files import blobs
from eikon_engine.trace import actions, certificate, edits, environment, execution, observation, patch, target
from eikon_engine.trace import actions as conditions
from eikon_engine.trace import journal as journal_records
from eikon_engine.trace import masks as mask
from eikon_engine.trace import rules as volatile
from eikon_engine.trace.serializer import parse_trace

if TYPE_CHECKING:
    from types import ModuleType

PAGE = (Path(__file__).parents[2] / "docs" / "trace-format.md").read_text()
MODULES = (
    actions,
    blobs,
    certificate,
    conditions,
    edits,
    environment,
    execution,
    journal_records,
    mask,
    observation,
    patch,
    target,
    volatile,
)


def _models(module: ModuleType) -> dict[str, type[BaseModel]]:
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, BaseModel) and value.__module__ == module.__name__
    }


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__.rpartition(".")[2])
def test_the_page_has_a_table_for_every_model(module: ModuleType) -> None:
    """Each model has its section, with exactly its fields in their order."""
    for name, model in _models(module).items():
        if name.startswith("_"):
            continue
        section = PAGE.partition(f"### {name}\n")[2].partition("\n## ")[0].partition("\n### ")[0]

        assert re.findall(r"^\| `(\w+)`", section, re.MULTILINE) == list(model.model_fields), name


def test_the_example_is_a_trace() -> None:
    """The example on the page can be read."""
    example = PAGE.partition("```json\n")[2].partition("```")[0]

    trace = parse_trace(example, "example")

    assert len(trace.subgoal_traces[0].steps) == 2
    assert json.loads(example)["trace_version"] == trace.trace_version
