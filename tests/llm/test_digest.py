from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.llm import CompletionRequest, Message, prompt_digest
from tests.llm.asking import request

VECTORS = (
    (
        request("one"),
        '{"messages":[{"content":"one","role":"user"}],"model":null,"parameters":{}}',
        "375ad728c05be75fec9ef50c48eaf0bde084f1f3180220d17c40fbb568631b3d",
    ),
    (
        CompletionRequest(
            metric_id="any",
            file_path="any",
            messages=(Message(role="system", content="Sei kurz.\n"), Message(role="user", content='„Preis“ "€" \x07')),
            model="gpt-test",
            parameters={"temperature": 0.5, "seed": 7, "stop": ["\n", None], "a": {"z": True, "b": 1e22}},
        ),
        (
            '{"messages":[{"content":"Sei kurz.\\n","role":"system"},'
            '{"content":"„Preis“ \\"€\\" \\u0007","role":"user"}],'
            '"model":"gpt-test","parameters":{"a":{"b":1e+22,"z":true},"seed":7,"stop":["\\n",null],"temperature":0.5}}'
        ),
        "47174a48c23a3dbe3106b1877a2d3061de45070f9f1175b39ceaec7bfda82771",
    ),
)


@pytest.mark.parametrize(("asked", "text", "digest"), VECTORS, ids=["plain", "everything"])
def test_the_digest_of_a_prompt_is_fixed(asked: CompletionRequest, text: str, digest: str) -> None:
    """The digest is the SHA-256 of a documented text, so other programs and later versions can compute it."""
    assert hashlib.sha256(text.encode()).hexdigest() == digest
    assert prompt_digest(asked) == digest


def test_the_purpose_of_a_request_is_not_in_its_digest() -> None:
    """Metric and file name are not sent to the model."""
    assert prompt_digest(request("one", "a", file_path="x")) == prompt_digest(request("one", "b"))


@pytest.mark.parametrize(
    "other",
    [
        request("One"),
        request("one", model="m"),
        request("one", parameters={"temperature": 0}),
        CompletionRequest(metric_id="title", messages=(Message(role="system", content="one"),)),
        CompletionRequest(metric_id="title", messages=(Message(role="user", content="one"),) * 2),
    ],
    ids=["text", "model", "parameter", "role", "number of messages"],
)
def test_everything_that_reaches_the_model_is_part_of_the_digest(other: CompletionRequest) -> None:
    """A changed text, role, order, model or parameter changes the digest."""
    assert prompt_digest(other) != prompt_digest(request("one"))


def test_numbers_keep_their_kind() -> None:
    """1 and 1.0 are different values, because a model may treat them differently."""
    assert prompt_digest(request(parameters={"n": 1})) != prompt_digest(request(parameters={"n": 1.0}))


@given(st.dictionaries(st.text(), st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()))
def test_the_order_of_parameters_does_not_count(parameters: dict[str, int | float | str]) -> None:
    """The same parameters in another order make the same request."""
    turned = dict(reversed(parameters.items()))

    assert prompt_digest(request(parameters=dict(parameters))) == prompt_digest(request(parameters=dict(turned)))
