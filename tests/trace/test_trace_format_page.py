from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest
from pydantic import BaseModel

from eikon_engine.files import blobs
from eikon_engine.trace import actions, certificate, edits, environment, execution, observation, patch, target
from eikon_engine.trace import actions as conditions
from eikon_engine.trace import journal as journal_records
from eikon_engine.trace import masks as mask
from eikon_engine.trace import rules as volatile
from eikon_engine.trace.trace_file import parse_trace

if TYPE_CHECKING:
    from types import ModuleType

PAGE = (Path(__file__).parents[2] / "docs" / "trace-format.md").read_text()
FIELD = re.compile(r"(?:^\* |, )`(\w+)` (?=[\w=\"])", re.MULTILINE)
UNIONS = ("Action", "Condition", "Expectation")
MEMBERS = {model for union in UNIONS for model in get_args(get_args(getattr(actions, union))[0])}
SHARED = defaultdict(set, actions={"page", "timeout_ms"}, rules={"url", "method", "reason"})
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
def test_the_page_has_a_section_for_every_model(module: ModuleType) -> None:
    """Each model has a section with its fields in order; fields common to all actions or rules are listed above."""
    for name, model in _models(module).items():
        if name.startswith("_") or model in MEMBERS:
            continue
        section = PAGE.partition(f"### {name}\n")[2].partition("\n## ")[0].partition("\n### ")[0]
        own = [field for field in model.model_fields if field not in SHARED[module.__name__.rpartition(".")[2]]]

        tag = re.findall(r'^`"(\w+)": ', section, re.MULTILINE)
        listed = FIELD.findall(re.sub(r": .*", "", section))
        assert [*tag, *listed] == [*tag, *(field for field in own if field not in tag)], name
        assert set(tag) <= set(own), name


@pytest.mark.parametrize("union", UNIONS)
def test_the_page_lists_every_action(union: str) -> None:
    """Actions, conditions and expectations have one line each, with their tag and fields in order."""
    section = PAGE.partition(f"### {union}\n")[2].partition("\n## ")[0].partition("\n### ")[0]

    lines = section.strip().splitlines()
    listed = [re.findall(r'^\* `"(\w+)": "\w+"`', line) + re.findall(r"[:,] `(\w+)` ", line) for line in lines]

    for model, fields in zip(get_args(get_args(getattr(actions, union))[0]), listed, strict=True):
        own = [field for field in model.model_fields if field not in SHARED["actions"]]
        assert sorted(fields) == sorted(own), model.__name__


def test_the_example_is_a_trace() -> None:
    """The example on the page can be read."""
    example = PAGE.partition("```json\n")[2].partition("```")[0]

    trace = parse_trace(example, "example")

    assert len(trace.subgoal_traces[0].steps) == 2
    assert json.loads(example)["trace_version"] == trace.trace_version
