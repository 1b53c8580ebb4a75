"""Events of every kind, for tests that write and read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st
from pydantic import JsonValue

from eikon_engine.outcome.debug_events import (
    BranchChanged,
    BranchCreated,
    BranchDeleted,
    BranchSwitched,
    BreakpointContext,
    BreakpointHit,
    BreakpointRef,
    Checkpoint,
    CommandDone,
    CommandFailed,
    CommandRejected,
    Evaluated,
    Paused,
    Resumed,
    Rewound,
)
from eikon_engine.outcome.divergence import Divergence
from eikon_engine.outcome.events import (
    ActionPerformed,
    ActionStart,
    CompletionReceived,
    DivergenceFound,
    Event,
    EventLine,
    GateEvaluated,
    Note,
    ObservationMade,
    RecordedAction,
    RecordedSkill,
    RunEnd,
    RunStart,
    SkillRun,
    SubgoalEnd,
    SubgoalStart,
    TokenUsage,
    ToolCall,
    ToolFailure,
    ToolResult,
)
from eikon_engine.outcome.outcomes import NetworkOutcome
from eikon_engine.outcome.stored_values import InlineValue
from eikon_engine.trace.execution import Succeeded
from eikon_engine.trace.observation import DocumentLoad, Observation, PageObservation

BEGIN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
START = RunStart(kind="scenario_record", run_id="r1", mission_id="m", mission_text="Do it")
END = RunEnd(how="complete", network=NetworkOutcome())


def call(tool: str = "web_fetch", number: int = 1, **args: str) -> ToolCall:
    """Make a tool call."""
    return ToolCall(
        subgoal="s",
        sequence=number,
        call_id=f"call-{number}",
        tool=tool,
        args=InlineValue(value=dict(args)),
        args_hash="0" * 64,
        occurrence=1,
    )


def answer(
    tool: str = "web_fetch",
    number: int = 1,
    *,
    result: JsonValue = "page",
    error: ToolFailure | None = None,
    latency_ms: float | None = 12.0,
) -> ToolResult:
    """Make the result of a tool."""
    return ToolResult(
        subgoal="s",
        sequence=number,
        call_id=f"call-{number}",
        tool=tool,
        source="executed",
        result=None if error else InlineValue(value=result),
        error=error,
        latency_ms=latency_ms,
    )


def completion(tokens: tuple[int | None, int | None] = (7, 5), latency_ms: float | None = 300.0) -> CompletionReceived:
    """Make a model completion."""
    return CompletionReceived(
        subgoal="s",
        sequence=3,
        metric_id="summary",
        model="small",
        prompt_digest="1" * 64,
        source="live",
        response=InlineValue(value="Bananas."),
        usage=TokenUsage(prompt_tokens=tokens[0], completion_tokens=tokens[1]),
        latency_ms=latency_ms,
    )


def observation(
    number: int = 1,
    *,
    requests: tuple[str, ...] = ("GET http://shop.test/",),
    status: int | None = 200,
    console_errors: tuple[str, ...] = (),
    page_errors: tuple[str, ...] = (),
    url: str = "http://shop.test/",
) -> ObservationMade:
    """Make the observation after an action."""
    seen = Observation(
        pages=(PageObservation(page=0, url=url, title="Shop"),),
        documents=(DocumentLoad(page=0, url=url, status=status),),
        requests=requests,
        console_errors=console_errors,
        page_errors=page_errors,
    )
    return ObservationMade(subgoal="s", sequence=number, observation=seen)


def started(number: int = 1) -> ActionStart:
    """Make the start of an action."""
    return ActionStart(subgoal="s", sequence=number, action="click", label="click #go")


def action(number: int = 1, duration_ms: float | None = 40.0) -> ActionPerformed:
    """Make a recorded action."""
    taken = RecordedAction(
        id=f"a{number}", sequence=number, type="click", label="click #go", result=Succeeded(), duration_ms=duration_ms
    )
    return ActionPerformed(subgoal="s", outcome=taken)


def skill(output: JsonValue = None, name: str = "extract_table") -> SkillRun:
    """Make a run of a skill."""
    used = RecordedSkill(id="k", sequence=2, skill=name, result=Succeeded(), duration_ms=3.0)
    return SkillRun(subgoal="s", outcome=used, output=InlineValue(value=output))


def divergence() -> DivergenceFound:
    """Make a divergence."""
    found = Divergence(
        code="dom-changed",
        layer="dom",
        subgoal="s",
        subgoal_id="s",
        sequence=1,
        expected="a",
        observed="b",
        message="It differs.",
    )
    return DivergenceFound(divergence=found)


EVERY_KIND: tuple[Event, ...] = (
    START,
    SubgoalStart(number=1, id="s", subgoal_id="s", description="Shop", steps=3),
    started(),
    observation(),
    action(),
    divergence(),
    skill({"rows": [1, 2, 3]}),
    call(),
    answer(),
    call(number=2),
    answer(number=2, error=ToolFailure(kind="OSError", message="no route")),
    completion(),
    Note(text="a note"),
    GateEvaluated(gate="max_actions", passed=True, limit=3, observed=1, message="1 action, at most 3"),
    Checkpoint(id="c", subgoal="s", sequence=4, label="signed in"),
    BreakpointHit(
        breakpoint=BreakpointRef(id="bp_1", type="tool", condition="click"),
        context=BreakpointContext(tool_name="click", tool_input={"target": "#pay"}, iteration=5),
        hit_count=2,
        branch="main",
    ),
    Paused(reason="breakpoint", branch="main", iteration=4, next="click #pay", detail="bp_1"),
    Resumed(how="run_to", branch="main", iteration=4),
    Rewound(
        checkpoint_id="cp_3_1",
        branch="main",
        iteration=3,
        way="reexecuted",
        reexecuted=3,
        verified=24,
        discarded=2,
        duration_ms=612.5,
    ),
    Evaluated(branch="main", iteration=3, page=0, frame="", expression="cart.clear()", result=InlineValue(value=None)),
    BranchCreated(name="retry", fork_point="cp_3_1", parent_branch="main", iteration=3),
    BranchSwitched(branch="retry", iteration=3),
    BranchChanged(branch="retry", iteration=3, change="delete buy__attempt_1_action_004"),
    BranchDeleted(branch="retry"),
    CommandDone(command_id="1", command="rewind", result=InlineValue(value={})),
    CommandFailed(command_id="2", command="rewind", code="checkpoint-missing", message="none", exit_status=78),
    CommandRejected(line=3, message="wanted a command, found no JSON"),
    SubgoalEnd(number=1, id="s", status="complete"),
    END,
)


def lines(*events: Event, step_s: float = 1.0) -> tuple[EventLine, ...]:
    """Make event lines, `step_s` seconds apart."""
    return tuple(
        EventLine(sequence=number, at=BEGIN + timedelta(seconds=step_s * (number - 1)), event=event)
        for number, event in enumerate(events, start=1)
    )


def text_of(read: tuple[EventLine, ...]) -> bytes:
    """Return the lines as the text of a file."""
    return b"".join(line.model_dump_json().encode() + b"\n" for line in read)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
