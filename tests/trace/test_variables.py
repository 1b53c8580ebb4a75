from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eikon_engine.errors import RequirementError, UsageError
from eikon_engine.secrets.redaction import placeholder, secret_names_in
from eikon_engine.trace.actions import (
    Action,
    AnswerDialog,
    Assert,
    AssertText,
    AssertUrl,
    Click,
    Drop,
    DropData,
    Evaluate,
    Expect,
    ExpectedText,
    Fill,
    Navigate,
    Note,
    SecretRef,
    SelectOption,
    SetValue,
    TypeText,
    UrlCondition,
    WaitFor,
)
from eikon_engine.trace.target import Target
from eikon_engine.trace.variables import (
    action_secret_names,
    action_variables,
    parse_variables,
    require_values,
    resolve_action,
    resolve_trace,
    used_variables,
)
from tests.error_codes import has_code
from tests.trace.trace_values import action, subgoal, trace

FIELD = Target(selector="#field")
MARK = "a {{fruit}}"
WITH_VARIABLE: tuple[Action, ...] = (
    Navigate(url=MARK),
    Fill(target=FIELD, text=MARK),
    TypeText(target=FIELD, text=MARK),
    SetValue(target=FIELD, text=MARK),
    SelectOption(target=FIELD, options=("b", MARK)),
    AnswerDialog(accept=True, text=MARK),
    Drop(target=FIELD, data=(DropData(mime_type="text/html", value="b"), DropData(mime_type="text/plain", value=MARK))),
    WaitFor(condition=UrlCondition(url=MARK)),
    Assert(expectation=AssertUrl(url=MARK)),
    Assert(expectation=AssertText(target=FIELD, text=MARK)),
)
WITHOUT: tuple[Action, ...] = (
    Click(target=Target(selector=MARK)),
    Fill(target=FIELD, text=SecretRef(secret="fruit")),
    Fill(target=FIELD, text="{{eikon-secret:fruit}}"),
    Drop(target=FIELD, data=(DropData(mime_type="text/plain", value=SecretRef(secret="fruit")),)),
    Note(text=MARK),
)
USING = trace(
    subgoal_traces=(subgoal(actions_taken=(action(1, action=Navigate(url=MARK)),)),),
    variables={"fruit": "pear", "idle": "x"},
)


@pytest.mark.parametrize("each", WITH_VARIABLE, ids=lambda each: each.type)
def test_a_variable_has_its_value_in_texts_and_urls(each: Action) -> None:
    """In every typed, selected or expected text, the value replaces the name."""
    filled = resolve_action(each, {"fruit": "pear"})

    assert filled.model_dump_json() == each.model_dump_json().replace("{{fruit}}", "pear")
    assert action_variables(each) == {"fruit"}


@pytest.mark.parametrize("each", WITHOUT, ids=lambda each: each.type)
def test_braces_in_other_fields_are_text(each: Action) -> None:
    """Selectors, notes and secrets are not searched for variables."""
    assert resolve_action(each, {"fruit": "pear"}) == each
    assert action_variables(each) == frozenset()


def test_a_name_that_is_not_declared_is_a_text() -> None:
    """A mission that typed braces types them again."""
    typed = Fill(target=FIELD, text="{{fruit}} {{other}}")

    assert resolve_action(typed, {"other": None}) == typed
    assert resolve_action(typed, {}) == typed


def test_a_value_is_not_resolved_again() -> None:
    """A value that looks like a variable is plain text."""
    filled = resolve_action(Fill(target=FIELD, text="{{a}}{{b}}"), {"a": "{{b}}", "b": "{{a}}"})

    assert filled == Fill(target=FIELD, text="{{b}}{{a}}")


def test_a_trace_is_filled_with_its_recorded_values() -> None:
    """Without other values the mission is the recorded one; a trace without variables is returned unchanged."""
    filled = resolve_trace(USING)
    plain = trace()

    assert used_variables(USING) == ("fruit",)
    assert getattr(filled.subgoal_traces[0].actions_taken[0].action, "url") == "a pear"  # noqa: B009 - of the union
    assert resolve_trace(plain) is plain


@pytest.mark.parametrize("name", ["frut", "idle"])
def test_a_value_for_an_unused_variable_is_refused(name: str) -> None:
    """An unknown or unused name is an error that lists the variables."""
    with pytest.raises(UsageError, match=f"--var {name}: .* its variables are fruit"):
        require_values(USING, {name: "x"})


def test_a_variable_without_a_value_is_an_error() -> None:
    """A variable needs a recorded or a provided value."""
    needed = USING.model_copy(update={"variables": {"fruit": None, "idle": None}})

    with pytest.raises(RequirementError, match="--var fruit=", check=has_code("variable-missing")):
        require_values(needed, {})
    require_values(needed, {"fruit": "plum"})
    require_values(USING, {})


@pytest.mark.parametrize(
    "texts", [["fruit"], ["=x"], ["a-b=x"], ["ä=x"], ["eikon-secret:P=x"], ["a=1", "a=2"], ["a=\udcff"]]
)
def test_text_other_than_a_pair_is_refused(texts: list[str]) -> None:
    """Each pair needs a name, an equals sign and a value, and each name occurs once."""
    with pytest.raises(UsageError, match="--var"):
        parse_variables(texts)


@given(st.text(max_size=20))
def test_any_text_is_a_value(value: str) -> None:
    """The text after the first equals sign is the value, and reaches the action unchanged."""
    values = parse_variables([f"name={value}"])

    assert resolve_action(Fill(target=FIELD, text="<{{name}}>"), values) == Fill(target=FIELD, text=f"<{value}>")


@pytest.mark.parametrize(
    "step",
    [
        Fill(target=Target(selector=f"[name={placeholder('a')}]"), text=f"{placeholder('b')} and {placeholder('a')}"),
        Evaluate(
            expression="each => each", argument={placeholder("a"): [1, None, {"key": placeholder("b", "base64")}]}
        ),
        Expect(expression="to.have.text", texts=(ExpectedText(string=placeholder("a")), ExpectedText(string="b"))),
        Navigate(url=f"http://site.test/?code={placeholder('a')}"),
        Click(target=FIELD),
    ],
)
def test_secrets_are_found_in_every_text_of_an_action(step: Action) -> None:
    """Those that its JSON names, also in keys, lists and nested models."""
    assert action_secret_names(step) == secret_names_in(step.model_dump_json())


def test_the_secret_of_a_field_comes_before_those_within_texts() -> None:
    """Each once."""
    step = Fill(
        target=Target(selector=f"#{placeholder('other')}{placeholder('fruit')}"), text=SecretRef(secret="fruit")
    )
    assert action_secret_names(step) == ("fruit", "other")
