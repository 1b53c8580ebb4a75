from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.actions import Click, Drag, Fill, Note
from eikon_engine.trace.edits import DeleteStep, Edit, InsertStep, MergeAttempts, SetFields, SetVariable, SplitAttempt
from eikon_engine.trace.environment import Environment
from eikon_engine.trace.execution import RecordedTiming
from eikon_engine.trace.steps import is_agent_recording, iter_steps
from eikon_engine.trace.target import Target
from eikon_engine.trace.trace_file import serialize_trace
from tests.trace.edited import BASE, FIELD, SEEN, edited, fields, observed, step


def test_recorded_data_after_a_changed_action_is_dropped() -> None:
    """Its observation and all later observations, elements and screenshots are dropped; earlier ones are kept."""
    changed = edited(fields("type", action__text="plum"))

    assert observed(changed) == ["open"]
    assert step(changed, "type").action == Fill(target=FIELD, text="plum")
    assert step(changed, "open") == step(BASE, "open")
    later = step(changed, "drag")
    assert isinstance(later.action, Drag)
    assert (later.action.target.identity, later.action.to.identity, later.artifacts) == (None, None, ())
    assert changed.warnings == (
        (
            "edited: set action.text of type (why); the observations of 3 actions were dropped; "
            "certify the bundle or record it again"
        ),
    )


def test_later_actions_keep_their_position_in_the_recorded_timeline() -> None:
    """Later actions keep their original position, so responses are delivered in time, also after a second edit."""
    changed = edited(fields("type", action__text="plum"), DeleteStep(step="open", reason="why"))

    assert [
        (each.actions_before, each.begun_ms, each.virtual_ms)
        for each in (step(changed, name).timing for name in ("type", "look", "drag"))
        if each is not None
    ] == [(1, 500, 500), (2, 1000, 500), (3, 1000, 500)]


def test_another_target_is_another_element() -> None:
    """A new selector or frame drops the identity of the old element."""
    for edit in (fields("type", action__target__selector="#other"), fields("type", action__target__frames=["#frame"])):
        changed = step(edited(edit), "type")

        assert getattr(changed.action, "target").identity is None  # noqa: B009 - of the union


def test_a_new_selector_of_the_same_element_keeps_the_recording() -> None:
    """On request the identity is kept and checked by replays; no other field may change with it."""
    same = fields("type", action__target__selector="#other").model_copy(update={"same_element": True})
    more = SetFields(step="type", fields={**same.fields, "action.text": "plum"}, same_element=True, reason="why")

    changed = edited(same)

    assert observed(changed) == observed(BASE)
    assert getattr(step(changed, "type").action, "target").identity == FIELD.identity  # noqa: B009 - of the union
    with pytest.raises(TraceFieldError, match="make them separately"):
        edited(more)


def test_deadlines_and_unused_selectors_invalidate_nothing() -> None:
    """Changed timeouts and alternative selectors keep the recorded data."""
    changed = edited(fields("type", action__timeout_ms=9.0, action__target__alternatives=["#b"]))

    assert observed(changed) == observed(BASE)


def test_an_element_identity_cannot_be_invented() -> None:
    """An identity can be removed, but not replaced."""
    dropped = edited(fields("type", action__target__identity=None))

    assert getattr(step(dropped, "type").action, "target").identity is None  # noqa: B009 - of the union
    assert observed(dropped) == ["open"]
    with pytest.raises(TraceFieldError, match="only a run can determine"):
        edited(fields("type", action__target__identity__name="Other"))


def test_read_only_steps_do_not_invalidate_other_steps() -> None:
    """Changed or deleted assertions and skills keep the observations of later actions."""
    assert observed(edited(fields("look", action__expectation__target__selector="#b"))) == ["open", "type", "drag"]
    assert observed(edited(DeleteStep(step="look", reason="why"))) == ["open", "type", "drag"]
    assert observed(edited(DeleteStep(step="read", reason="why"))) == observed(BASE)


def test_a_skill_with_a_changed_input_has_no_output() -> None:
    """The recorded output belongs to another input, so it is dropped."""
    changed = edited(fields("read", parameters__selector="table"))

    (usage,) = changed.subgoal_traces[0].skills_used
    assert (usage.parameters, usage.output, usage.output_recorded) == ({"selector": "table"}, None, False)


@pytest.mark.parametrize(
    "edit",
    [
        fields("type", action__text="plum"),
        DeleteStep(step="open", reason="why"),
        InsertStep(step="type", id="new", action=Click(target=Target(selector="#more")), reason="why"),
        InsertStep(step="read", id="new", action=Click(target=Target(selector="#more")), reason="why"),
    ],
)
def test_a_skill_after_changed_actions_has_no_document(edit: Edit) -> None:
    """The recorded document belongs to the recorded actions, so a replay could not check it."""
    (usage,) = edited(edit).subgoal_traces[0].skills_used

    assert (usage.source, usage.output, usage.output_recorded) == (None, None, False)


@pytest.mark.parametrize(
    "edit",
    [
        fields("type", action__timeout_ms=9.0),
        fields("drag", action__page=1),
        DeleteStep(step="look", reason="why"),
        InsertStep(step="type", id="new", action=Note(text="here"), reason="why"),
    ],
)
def test_a_skill_after_unchanged_actions_keeps_its_document(edit: Edit) -> None:
    """Edits of limits, of read-only steps and of later steps do not affect the document."""
    (before,), (usage,) = BASE.subgoal_traces[0].skills_used, edited(edit).subgoal_traces[0].skills_used

    assert (usage.source, usage.output) == (before.source, before.output)


def test_attempts_and_the_trace_have_texts_of_their_own() -> None:
    """Changed descriptions and mission texts keep the recorded data."""
    changed = edited(fields("buy__attempt_1", description="Pay"), fields("", mission_text="Shop"))

    assert (changed.subgoal_traces[1].description, changed.mission_text) == ("Pay", "Shop")
    assert observed(changed) == observed(BASE)


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (fields("type", action__text=3), "type: action.text: expected a string"),
        (fields("type", action__speed=3), "type: action.speed: this field is unknown"),
        (fields("type", action__type="fly"), "type: action.type: expected one of"),
        (fields("type", observation=None), "expected a field in action, result"),
        (fields("", environment=None), "expected a field in mission_text"),
        (fields("type", action__target__frames__x="a"), "got nothing at x"),
        (SetFields(step="type", fields={"action.target.frames[2]": "a"}, reason="why"), "nothing at 2"),
        (SetFields(step="type", fields={"action..text": "a"}, reason="why"), "expected a field in"),
        (SetFields(step="type", fields={"": "a"}, reason="why"), "expected a field in"),
        (fields("gone", action__text="a"), "got 0"),
        (DeleteStep(step="gone", reason="why"), "got 0"),
        (SplitAttempt(attempt="gone", before="type", description="x", reason="why"), "id of an attempt"),
        (SplitAttempt(attempt="find__attempt_1", before="open", description="x", reason="why"), "its first step"),
        (SplitAttempt(attempt="find__attempt_1", before="drag", description="x", reason="why"), "got 'drag'"),
        (MergeAttempts(first="buy__attempt_1", second="find__attempt_1", reason="why"), "adjacent attempts in order"),
        (MergeAttempts(first="buy__attempt_1", second="buy__attempt_1", reason="why"), "adjacent attempts in order"),
    ],
)
def test_an_edit_that_matches_nothing_is_refused(edit: Edit, words: str) -> None:
    """One line has the step, the field, the expected and the actual value."""
    with pytest.raises(TraceFieldError, match=words) as caught:
        edited(edit)

    assert "\n" not in caught.value.message


def test_deleting_the_last_step_deletes_its_attempt() -> None:
    """No empty attempt is left; ids and numbers of other steps are unchanged."""
    changed = edited(DeleteStep(step="drag", reason="why"), DeleteStep(step="read", reason="why"))

    assert [each.id for each in changed.subgoal_traces] == ["find__attempt_1"]
    assert [(each.id, each.sequence) for _, each in iter_steps(changed)] == [("open", 1), ("type", 2), ("look", 4)]


def test_an_agents_mission_without_its_last_steps_counts_as_edited() -> None:
    """What the deleted actions sent is not missing."""
    environment = Environment(
        browser_version="1",
        playwright_version="1",
        platform="here",
        clock_start_ms=0,
        random_seed=1,
        random_source="script",
    )
    recorded = BASE.model_copy(update={"environment": environment})

    changed = edited(DeleteStep(step="drag", reason="why"), of=recorded)

    assert is_agent_recording(recorded)
    assert not is_agent_recording(changed)
    assert [(each.id, getattr(each, "timing", None)) for _, each in iter_steps(changed)] == [
        ("open", None),
        ("type", None),
        ("read", None),
        ("look", RecordedTiming(actions_before=2, begun_ms=1000, virtual_ms=500)),
    ]
    assert [getattr(each, "observation", None) for _, each in iter_steps(changed)][-1] is not None


def test_a_split_attempt_is_two_subgoals() -> None:
    """The later steps become another subgoal, numbered from one; recorded data is unchanged."""
    split = SplitAttempt(attempt="find__attempt_1", before="read", description="Read", reason="why")

    first, second, _ = edited(split).subgoal_traces

    assert [each.id for each in first.steps] == ["open", "type"]
    assert [(each.id, each.sequence) for each in second.steps] == [("read", 1), ("look", 2)]
    assert (second.id, second.subgoal_id, second.description) == ("find_2__attempt_1", "find_2", "Read")
    assert observed(edited(split)) == observed(BASE)


def test_a_split_may_name_a_subgoal_that_is_there() -> None:
    """The new part becomes another attempt at that subgoal."""
    split = SplitAttempt(attempt="find__attempt_1", before="look", description="x", subgoal_id="buy", reason="why")

    second = edited(split).subgoal_traces[1]

    assert (second.id, second.attempt_number) == ("buy__attempt_2", 2)


def test_merged_attempts_are_one() -> None:
    """It has the name of the first attempt, and the status and error of the second."""
    merged = edited(MergeAttempts(first="find__attempt_1", second="buy__attempt_1", reason="why"))

    (attempt,) = merged.subgoal_traces
    assert [(each.id, each.sequence) for each in attempt.steps][-1] == ("drag", 5)
    assert (attempt.id, attempt.status, attempt.error) == ("find__attempt_1", "failed", "x")
    assert merged.failures[0].subgoal_id == "find"
    assert observed(merged) == observed(BASE)


def test_a_split_is_undone_by_a_merge() -> None:
    """Steps and their numbers are as before."""
    split = SplitAttempt(attempt="find__attempt_1", before="read", description="Read", reason="why")

    back = edited(split, MergeAttempts(first="find__attempt_1", second="find_2__attempt_1", reason="why"))

    assert back.subgoal_traces[0].steps == BASE.subgoal_traces[0].steps


def test_a_variable_with_the_recorded_value_invalidates_nothing() -> None:
    """The recorded data is kept, because the recording was made with this value."""
    changed = edited(SetVariable(name="fruit", value="pear", reason="why"), fields("type", action__text="{{fruit}}"))

    assert observed(changed) == observed(BASE)
    assert changed.variables == {"fruit": "pear"}


def test_another_value_of_a_variable_drops_data_from_its_first_use_on() -> None:
    """Without the recorded value the effect of the action is unknown."""
    variable = SetVariable(name="fruit", value="pear", reason="why")
    use = fields("type", action__text="{{fruit}}")

    other = edited(variable, use, SetVariable(name="fruit", value="plum", reason="why"))
    none = edited(SetVariable(name="fruit", reason="why"), use)

    assert observed(other) == observed(none) == ["open"]


def test_a_variable_in_an_assertion_and_an_action_drops_data_of_both() -> None:
    """The assertion is read-only; the action that uses the variable changes all later observations."""
    expecting = edited(
        fields("open", action={"type": "assert", "expectation": {"kind": "url", "url": "http://shop.test"}}),
        SetVariable(name="fruit", value="pear", reason="why"),
        fields("open", action__expectation__url="http://{{fruit}}.test"),
        fields("type", action__text="{{fruit}}"),
    )
    with_record = expecting.model_copy(
        update={
            "subgoal_traces": tuple(
                each.model_copy(
                    update={
                        "actions_taken": tuple(
                            one.model_copy(update={"observation": SEEN}) for one in each.actions_taken
                        )
                    }
                )
                for each in expecting.subgoal_traces
            )
        }
    )

    changed = edited(SetVariable(name="fruit", value="plum", reason="why"), of=with_record)

    assert observed(changed) == []


def test_a_text_of_the_mission_never_becomes_a_variable() -> None:
    """A name already typed in braces is refused, and so is a variable in a field that does not support one."""
    literal = edited(fields("type", action__text="{{fruit}}"))

    with pytest.raises(TraceFieldError, match=r"got \{\{fruit\}\} as plain text in type"):
        edited(SetVariable(name="fruit", value="pear", reason="why"), of=literal)
    with pytest.raises(TraceFieldError, match="where variables are not resolved"):
        edited(
            SetVariable(name="fruit", value="pear", reason="why"),
            fields("type", action__target__selector="text={{fruit}}"),
        )


NAMES = ("open", "type", "look", "read", "drag", "find__attempt_1", "buy__attempt_1", "find_2__attempt_1")
_NAMES = st.sampled_from(NAMES)
_TEXT = st.sampled_from(["pear", "plum", "{{fruit}}", "{{other}}", ""])
EDITS: st.SearchStrategy[Edit] = st.one_of(
    st.builds(DeleteStep, step=_NAMES, reason=st.just("why")),
    st.builds(SplitAttempt, attempt=_NAMES, before=_NAMES, description=_TEXT, reason=st.just("why")),
    st.builds(MergeAttempts, first=_NAMES, second=_NAMES, reason=st.just("why")),
    st.builds(SetVariable, name=st.sampled_from(["fruit", "other"]), value=st.none() | _TEXT, reason=st.just("why")),
    st.builds(
        SetFields,
        step=st.sampled_from((*NAMES, "")),
        fields=st.dictionaries(
            st.sampled_from(
                [
                    "action.text",
                    "action.url",
                    "action.target.selector",
                    "action.timeout_ms",
                    "description",
                    "mission_text",
                ]
            ),
            st.none() | _TEXT | st.floats(min_value=-1, max_value=9),
            max_size=2,
        ),
        same_element=st.booleans(),
        reason=st.just("why"),
    ),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(EDITS, max_size=8))
def test_any_edits_leave_a_trace_that_can_be_read(edits: list[Edit]) -> None:
    """Edits are applied or refused; a result can be read, never gains recorded data, and leaves the input unchanged."""
    before = serialize_trace(BASE)
    current = BASE
    for edit in edits:
        known = set(observed(current))
        try:
            current = edited(edit, of=current)
        except TraceFieldError:
            continue
        assert set(observed(current)) <= known

    assert serialize_trace(BASE) == before
    kept = [step(BASE, name) for name in observed(current)]
    assert [each.observation for each in kept] == [step(current, each.id).observation for each in kept]
