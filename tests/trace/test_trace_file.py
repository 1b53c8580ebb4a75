from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from eikon_engine.errors import OutputError, TraceError
from eikon_engine.trace.execution import ExecutionTrace
from eikon_engine.trace.trace_file import (
    ExecutionTraceSerializer,
    parse_trace,
    read_trace,
    serialize_trace,
    write_trace,
)
from tests.error_codes import has_code
from tests.trace.trace_values import action, subgoal, trace, traces, values_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def _models_within(annotation: Any) -> Iterator[type[BaseModel]]:  # noqa: ANN401 - whatever annotates a field
    """Yield the models that a type names, and those of their fields."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        annotation = tuple(field.annotation for field in annotation.model_fields.values())
    for each in annotation if isinstance(annotation, tuple) else get_args(annotation):
        yield from _models_within(each)


@pytest.mark.parametrize("model", sorted(set(_models_within(ExecutionTrace)), key=attrgetter("__name__")))
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_every_model_reads_back_as_it_was_written(model: type[BaseModel], data: st.DataObject) -> None:
    """A model that whole traces rarely have is read back equal as well."""
    value = data.draw(values_of(model))

    assert model.model_validate_json(value.model_dump_json()) == value


@settings(max_examples=150, deadline=None)
@given(traces())
def test_every_trace_reads_back_as_it_was_written(value: ExecutionTrace) -> None:
    """A trace is read back equal, and writing it again gives the same bytes."""
    data = serialize_trace(value)

    again = parse_trace(data, "trace.json")

    assert again == value
    assert serialize_trace(again) == data


def test_a_bundle_folder_and_its_file_are_the_same_trace(tmp_path: Path) -> None:
    """A path may be the folder or the file, for reading and writing."""
    value = trace(subgoal_traces=(subgoal(actions_taken=(action(1),)),))

    write_trace(value, tmp_path)

    assert read_trace(tmp_path) == read_trace(tmp_path / "trace.json") == value


def test_the_class_offers_the_functions(tmp_path: Path) -> None:
    """`ExecutionTraceSerializer` reads what it wrote."""
    ExecutionTraceSerializer.write_trace(trace(), tmp_path / "trace.json")

    assert ExecutionTraceSerializer.read_trace(tmp_path) == trace()


def test_the_file_is_utf8_in_model_order_and_ends_with_a_newline() -> None:
    """A trace is readable and diffable: one field per line, version first, text unescaped."""
    text = serialize_trace(trace(mission_text="Käse")).decode()

    assert text.startswith('{\n "trace_version": 4,\n "id": "t1",\n')
    assert '"mission_text": "Käse"' in text
    assert text.endswith("}\n")


def test_a_path_without_a_trace_is_named(tmp_path: Path) -> None:
    """A missing file and a folder without a trace are different errors."""
    with pytest.raises(
        TraceError, match=r"expected a bundle folder or its trace\.json, got nothing", check=has_code("trace-missing")
    ):
        read_trace(tmp_path / "gone")
    with pytest.raises(TraceError, match="got a folder without one", check=has_code("trace-missing")):
        read_trace(tmp_path)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    """A trace that cannot be moved into place leaves the folder unchanged."""
    (tmp_path / "trace.json").mkdir()
    (tmp_path / "trace.json" / "kept").touch()

    with pytest.raises(OutputError, match=r"cannot write .*trace\.json"):
        write_trace(trace(), tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]
