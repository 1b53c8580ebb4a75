from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eikon_engine.debug.breakpoint_hits import hit_event, hits_after, hits_before
from eikon_engine.debug.breakpoints import BreakpointTable, RequestPattern, SearchResult, TextPattern, parse_breakpoint
from eikon_engine.debug.selector_watch import SelectorChange, SelectorState, find_changes
from eikon_engine.errors import UsageError
from eikon_engine.outcome.divergence import Divergence
from eikon_engine.outcome.events import ActionPerformed, DivergenceFound, ObservationMade, RecordedAction
from eikon_engine.trace.actions import Fill
from eikon_engine.trace.execution import ActionTrace, Failed, Succeeded
from eikon_engine.trace.observation import Observation, PageObservation
from eikon_engine.trace.target import Target
from tests.debug.shop_plan import shop_steps, step_of, stop_at, table
from tests.error_codes import has_code

if TYPE_CHECKING:
    from eikon_engine.outcome.debug_events import BreakpointType
    from eikon_engine.replay.plan import PlannedStep
    from eikon_engine.trace.actions import Action
    from eikon_engine.trace.execution import Result


def steps_stopped_before(breakpoints: BreakpointTable, seen: Observation | None = None) -> list[int]:
    """Return the numbers of the steps before which a table stops."""
    return [step.position for step in shop_steps() if hits_before(breakpoints, step, seen)]


@pytest.mark.parametrize(
    ("on", "value", "stops"),
    [
        ("tool", "download", [3]),
        ("tool", "extract_listing", [8]),
        ("tool", "press", [5, 7]),
        ("iteration", 5, [5]),
        ("iteration", "29", [29]),
        ("pattern", "BANANA", [6, 7, 9, 22]),
        ("pattern", r'"by": "label"', []),
        ("pattern", r"^POST .*/api/c", [17, 25]),
        ("pattern", "sample-invoice", [3]),
        ("subgoal", "add_to_cart", [10]),
        ("subgoal", "check_cart__attempt_1", [19]),
        ("request", "*/api/cart", [17, 19]),
        ("request", "POST */api/cart", [17]),
        ("request", "post *", [16, 17, 25]),
        ("request", "*/api/car", []),
        ("request", "*/?q=*", [7]),
        ("error", None, []),
        ("divergence", None, []),
        ("selector", "body", []),
    ],
)
def test_breakpoints_stop_before_matching_steps(on: BreakpointType, value: str | int | None, stops: list[int]) -> None:
    """The expected steps of a bundled mission are listed by number."""
    assert steps_stopped_before(stop_at(on, value)) == stops


@pytest.mark.parametrize(("condition", "stops"), [("quantity", [10]), ("AUTHOR|review", [14, 15]), ("banana", [])])
def test_a_condition_must_match_the_input(condition: str, stops: list[int]) -> None:
    """The match ignores case."""
    assert steps_stopped_before(stop_at("tool", "fill", condition)) == stops


def test_a_pattern_is_searched_in_the_address_of_the_action_page() -> None:
    """Other pages are ignored, and so are skills, which work on recorded documents."""
    seen = Observation(
        pages=(
            PageObservation(page=0, url="http://shop/checkout", title=""),
            PageObservation(page=1, url="http://shop/help", title=""),
        )
    )

    on_first = [each.position for each in shop_steps() if getattr(getattr(each.step, "action", None), "page", 1) == 0]

    assert steps_stopped_before(stop_at("pattern", "/checkout$"), seen) == on_first


_PIECES = (
    *"ab{}eis12,[]-|()?*+:^$. ",
    *(
        "[^",
        "[[:alpha:]]",
        "[a[b]",
        r"\d",
        r"\[",
        r"\{",
        r"\}",
        "(?:",
        "(?#[)",
        r"\N{BULLET}",
        "&&",
        "||",
        "{e}",
        "{,2}",
    ),
)
_TEXTS = (
    "",
    "a",
    "ab",
    "aaa",
    "item",
    "a{e}",
    "a{,2}",
    "b:]",
    "[:alpha:]",
    "{",
    "}",
    "[",
    "]",
    "1",
    "\u2022",
    "a&&b",
    "[]",
)


@given(st.lists(st.sampled_from(_PIECES), min_size=1, max_size=7).map("".join))
@example("item{i}")
@example("x{s}")
@example("/user/{id}")
@example("a{1<e<2}")
@pytest.mark.filterwarnings("ignore:Possible (nested|set):FutureWarning")
def test_patterns_are_python_regular_expressions(source: str) -> None:
    """Braces without a count are literal; invalid patterns are rejected."""
    try:
        wanted = [re.search(source, text, re.IGNORECASE) is not None for text in _TEXTS]
    except re.error:
        with pytest.raises(UsageError, match="expected a", check=has_code("breakpoint")):
            TextPattern.parse(source, "pattern")
        return

    pattern = TextPattern.parse(source, "pattern")

    assert [pattern.search(text) is SearchResult.YES for text in _TEXTS] == wanted


def test_all_breakpoints_at_a_step_are_hit_and_counted() -> None:
    """Hits contain their updated breakpoints."""
    breakpoints = table(
        parse_breakpoint("tool:download"), parse_breakpoint("iteration:3"), parse_breakpoint("iteration:4")
    )

    hits = hits_before(breakpoints, shop_steps()[2], None)
    counted = breakpoints.with_updated(each.breakpoint for each in hits)

    assert [each.hit_count for each in counted.breakpoints] == [1, 1, 0]
    assert hits_before(counted, shop_steps()[2], None)[0].breakpoint.hit_count == 2


def test_disabled_breakpoints_are_not_evaluated() -> None:
    """They are not counted either."""
    assert hits_before(stop_at("iteration", 3).disable("bp-1"), shop_steps()[2], None) == ()


def test_a_hit_event_describes_the_next_step() -> None:
    """It has the fields of its format; a fill has its selector and text."""
    step = step_of("fill")
    (hit,) = hits_before(stop_at("tool", "fill", "quantity"), step, None)

    event = hit_event(hit, step, step.position - 1, "main")

    assert event.model_dump(mode="json")["breakpoint"] == {
        "id": "bp-1",
        "type": "tool",
        "condition": "fill --condition quantity",
    }
    assert (event.context.tool_name, event.context.iteration, event.context.error) == ("fill", step.position, None)
    assert event.context.tool_input == step_action(step).model_dump(mode="json")
    assert (event.hit_count, event.branch) == (1, "main")


def step_action(planned: PlannedStep) -> Action:
    """Return the action of a step."""
    assert isinstance(planned.step, ActionTrace)
    return planned.step.action


def test_a_hit_after_the_last_step_has_no_next_step() -> None:
    """Its iteration is the one after the last."""
    (hit,) = hits_after(stop_at("error"), shop_steps()[-1], ended(Failed(code="x", message="y")))

    event = hit_event(hit, None, 29, "main")

    assert (event.context.tool_name, event.context.iteration, event.context.error) == (None, 30, "x: y")


def ended(result: Result) -> list[ActionPerformed]:
    """Return the events of an action with this result."""
    outcome = RecordedAction(id="a", sequence=1, type="click", label="click", result=result, duration_ms=None)
    return [ActionPerformed(subgoal="s", outcome=outcome)]


def test_a_failed_step_stops_the_session_after_it() -> None:
    """A successful step does not."""
    breakpoints, step = stop_at("error"), step_of("click")

    (hit,) = hits_after(breakpoints, step, ended(Failed(code="target-missing", message="#a: found none")))

    assert hit.cause == "target-missing: #a: found none"
    assert hits_after(breakpoints, step, ended(Succeeded())) == ()


def test_a_divergence_stops_the_session_after_its_step() -> None:
    """The hit lists all divergences."""
    found = Divergence(
        code="dom-changed",
        layer="dom",
        subgoal="s",
        subgoal_id="s",
        sequence=1,
        expected="",
        observed="",
        message="one thing",
    )
    events = [DivergenceFound(divergence=found), DivergenceFound(divergence=found.model_copy(update={"code": "b"}))]

    (hit,) = hits_after(stop_at("divergence"), step_of("click"), events)

    assert hit.cause == "dom-changed: one thing; b: one thing"
    assert hits_after(stop_at("error"), step_of("click"), events) == ()


def test_an_unrecorded_request_stops_the_session_after_its_step() -> None:
    """Recorded requests stop it before their step."""
    step = step_of("download")
    assert isinstance(step.step, ActionTrace)
    recorded = step.step.observation
    assert recorded is not None
    new = recorded.model_copy(update={"requests": (*recorded.requests, "GET http://shop/invoice/9.txt")})
    breakpoints = stop_at("request", "*/invoice/*")

    def after(seen: Observation) -> tuple[str | None, ...]:
        events = [ObservationMade(subgoal="s", sequence=1, observation=seen)]
        return tuple(each.cause for each in hits_after(breakpoints, step, events))

    assert after(recorded) == ()
    assert after(new) == ("request not in the recording of the step: GET http://shop/invoice/9.txt",)


def test_a_changed_selector_match_stops_the_session() -> None:
    """The change is described in words."""
    changed = {"#a": SelectorChange(before=0, now=2)}
    breakpoints = table(parse_breakpoint("selector:#a"), parse_breakpoint("selector:#b"))

    hits = hits_after(breakpoints, step_of("click"), (), changed)

    assert [(each.breakpoint.id, each.cause) for each in hits] == [("bp-1", "appeared: 2 elements")]


def test_a_new_selector_has_not_changed() -> None:
    """A selector that can no longer be evaluated counts as changed."""
    lost = SelectorState(failure="page 0 has not answered")

    changed = find_changes({"#b": SelectorState()}, {"#a": SelectorState(), "#b": lost})

    assert {selector: str(each) for selector, each in changed.items()} == {
        "#b": "the matches could not be determined: page 0 has not answered"
    }


def typing(text: str) -> PlannedStep:
    """Return a step that fills in a text."""
    step = step_of("fill")
    assert isinstance(step.step, ActionTrace)
    action = Fill(target=Target(selector="#a"), text=text)
    return replace(step, step=step.step.model_copy(update={"action": action}))


@pytest.mark.parametrize(
    ("on", "value", "condition"),
    [("pattern", "(x+x+)+y", None), ("tool", "fill", "(x+x+)+y")],
)
def test_a_slow_pattern_stops_the_session_with_a_reason(on: BreakpointType, value: str, condition: str | None) -> None:
    """It counts neither as a match nor as a mismatch."""
    begin = time.perf_counter()

    (hit,) = hits_before(stop_at(on, value, condition), typing("x" * 4000 + "?"), None)

    assert "was not decided within 50 ms; simplify the pattern" in (hit.cause or "")
    assert time.perf_counter() - begin < 5


@given(st.lists(st.sampled_from(["a", "b", "/", "ab", ".", "*"]), min_size=1, max_size=8), st.text("ab/.", max_size=12))
def test_stars_in_a_url_match_any_text(pieces: list[str], url: str) -> None:
    """The equivalent regular expression is compared, whose search may take longer."""
    pattern = "".join(pieces)

    fits = RequestPattern.parse(pattern).search(f"GET {url}") is SearchResult.YES

    assert fits == (re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), url) is not None)


def test_a_url_pattern_with_many_stars_does_not_hang() -> None:
    """Each star matches any text."""
    assert RequestPattern.parse("*a" * 900 + "b").search("GET " + "a" * 100_000) is SearchResult.NO


def test_fifty_breakpoints_cost_less_than_a_millisecond_per_step() -> None:
    """The limit is processor time, five times as much here; `benchmarks/breakpoints.py` measures it."""
    texts = [f"pattern:nothing {number} .* of the kind" for number in range(40)]
    breakpoints = table(*map(parse_breakpoint, [*texts, *(f"request:*/none/{number}*" for number in range(10))]))
    steps = shop_steps()
    assert steps_stopped_before(breakpoints) == []

    begin = time.process_time()
    for step in steps:
        hits_before(breakpoints, step, None)

    assert (time.process_time() - begin) / len(steps) < 0.005
