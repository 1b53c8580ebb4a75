from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.errors import CompletionError, CompletionUnreachableError
from eikon_engine.llm import Message, ModelResponse, TokenUsage, prompt_digest
from eikon_engine.llm.completion_usage import usage_from_response
from eikon_engine.llm.model_response import COMPLETION_CODES, FILE_NAME, ModelFailure, parse_response, response_bytes
from eikon_engine.llm.response_folder import STATE_FILE
from eikon_engine.trace.execution import CompletionUsage, Failed, Succeeded

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.none() | st.integers(0, 10**9)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)


@st.composite
def responses(draw: st.DrawFn) -> ModelResponse:
    """Any response that can be recorded."""
    error = draw(st.none() | st.builds(ModelFailure, code=st.sampled_from(sorted(COMPLETION_CODES)), message=TEXT))
    plain = ModelResponse(
        format_version=1,
        recording="r",
        metric_id=draw(TEXT.filter(bool)),
        sample_index=draw(st.integers(0, 10**6)),
        file_path=draw(TEXT),
        model=draw(st.none() | TEXT),
        parameters=draw(st.dictionaries(TEXT, JSON, max_size=3)),
        prompt=tuple(
            draw(st.lists(st.builds(Message, role=st.sampled_from(("system", "user")), content=TEXT), min_size=1))
        ),
        prompt_digest="0" * 64,
        response=None if error else draw(TEXT),
        error=error,
        answered_by=draw(st.none() | TEXT),
        usage=TokenUsage(prompt_tokens=draw(NUMBERS), completion_tokens=draw(NUMBERS)),
        finish_reason=draw(st.none() | TEXT),
        duration_seconds=draw(st.floats(0, 1e6)),
    )
    return plain.model_copy(update={"prompt_digest": prompt_digest(plain.request)})


@settings(max_examples=40)
@given(responses())
def test_a_file_reads_back_as_it_was_written(response: ModelResponse) -> None:
    """Text of any language, numbers of any kind, failures: the file is the response."""
    assert parse_response(response_bytes(response), Path("file")) == response


@settings(max_examples=40)
@given(responses())
def test_the_name_of_a_file_suits_every_file_system(response: ModelResponse) -> None:
    """It is short, ASCII, not a path or a reserved name, and never equal to the name of the state file."""
    name = response.file_name

    assert FILE_NAME.fullmatch(name)
    assert len(name) <= 100
    assert Path(name).name == name
    assert name != STATE_FILE


@pytest.mark.parametrize("pair", [("a", "A"), ("a b", "a/b"), ("x" * 200, "x" * 201), ("../a", "a"), ("CON", "con.")])
def test_two_metrics_never_share_a_file(pair: tuple[str, str]) -> None:
    """Similar names, or names that differ only in case, get different files even on case-insensitive systems."""
    names = {_named(metric).file_name.lower() for metric in pair}

    assert len(names) == 2


@settings(max_examples=40)
@given(responses())
def test_a_completion_of_a_trace_has_the_data_of_the_response(response: ModelResponse) -> None:
    """A completion written to a trace and read from it has the same fields as the response file."""
    usage = usage_from_response(response, "c1", 3)
    read = CompletionUsage.model_validate_json(usage.model_dump_json())

    assert (read.id, read.sequence) == ("c1", 3)
    same = set(ModelResponse.model_fields) & set(CompletionUsage.model_fields) - {"prompt"}
    assert {name: getattr(read, name) for name in same} == {name: getattr(response, name) for name in same}
    assert same >= {"metric_id", "sample_index", "prompt_digest", "response", "duration_seconds", "usage"}
    assert read.prompt == [each.model_dump() for each in response.prompt]
    failed = None if response.error is None else Failed(code=response.error.code, message=response.error.message)
    assert read.result == (failed or Succeeded())


@pytest.mark.parametrize("code", sorted(COMPLETION_CODES))
def test_a_recorded_failure_is_raised_as_the_same_error(code: str) -> None:
    """Class, code and message are those of the recording."""
    kind = CompletionUnreachableError if code == "completion-unreachable" else CompletionError
    failed = _named("m").model_copy(update={"response": None, "error": ModelFailure(code=code, message="So it was.")})

    with pytest.raises(CompletionError) as caught:
        failed.completion()

    assert (type(caught.value), caught.value.code, caught.value.message) == (kind, code, "So it was.")


def test_every_failure_of_a_model_can_be_recorded() -> None:
    """A response file may contain every error code of `CompletionError` and its subclasses."""

    def below(error: type[CompletionError]) -> set[type[CompletionError]]:
        return {error}.union(*(below(each) for each in error.__subclasses__() if each.__module__ == error.__module__))

    assert {code for kind in below(CompletionError) for code in (kind.code, *kind.codes)} == COMPLETION_CODES


def test_the_fields_of_a_file() -> None:
    """The field names are public: users and other programs read them."""
    assert list(json.loads(response_bytes(_named("m")))) == [
        "format_version",
        "recording",
        "metric_id",
        "sample_index",
        "file_path",
        "model",
        "parameters",
        "prompt",
        "prompt_digest",
        "response",
        "error",
        "answered_by",
        "usage",
        "finish_reason",
        "duration_seconds",
    ]


def _named(metric: str) -> ModelResponse:
    plain = ModelResponse(
        format_version=1,
        recording="r",
        metric_id=metric,
        sample_index=0,
        file_path="",
        model=None,
        parameters={},
        prompt=(Message(role="user", content="one"),),
        prompt_digest="0" * 64,
        response="ONE",
        error=None,
        answered_by=None,
        usage=TokenUsage(),
        finish_reason=None,
        duration_seconds=0.5,
    )
    return plain.model_copy(update={"prompt_digest": prompt_digest(plain.request)})
