from __future__ import annotations

import json

import pytest

from eikon_engine.cli.trace_listing import render_listing, render_step
from eikon_engine.errors import TraceFieldError
from eikon_engine.trace.actions import Click, Note
from eikon_engine.trace.execution import Blocked, Failed, SkillUsage, Succeeded
from eikon_engine.trace.observation import Observation
from eikon_engine.trace.target import Identity, Target
from tests.trace.trace_values import action, subgoal, trace

SEEN = Observation(pages=())
WEAK = Click(target=Target(selector="div", identity=Identity(tag="div")))
TRACE = trace(
    subgoal_traces=(
        subgoal(
            actions_taken=(
                action(1),
                action(2, action=WEAK, observation=SEEN, result=Failed(code="target-missing")),
                action(3, action=Note(text="no"), result=Blocked()),
            ),
            skills_used=(SkillUsage(id="s4", sequence=4, skill="read", result=Succeeded(), output_recorded=False),),
        ),
    ),
    variables={"fruit": "pear", "shop": None},
    warnings=("edited",),
)


def test_a_listing_names_every_step_and_what_is_special_about_it() -> None:
    """Each line has the step's id, action, result, and what a replay cannot verify."""
    listing = render_listing(TRACE)

    assert listing.splitlines() == [
        "mission m1: Buy bread [complete, 1 attempt, 4 steps]",
        "variable fruit: 'pear'",
        "variable shop: must be provided",
        "subgoal 1: Buy [s1__attempt_1, complete]",
        "  001 a1  click #go  [element unknown; nothing recorded to compare with]",
        "  002 a2  click div  [failed: target-missing; weak: identified only by its position]",
        "  003 a3  note: no  [not performed]",
        "  004 s4  skill read  [no recorded output]",
        "warning: edited",
    ]


def test_one_step_is_json() -> None:
    """Actions, skills and attempts are printed as in the trace."""
    for name in ("a2", "s4", "s1__attempt_1"):
        assert json.loads(render_step(TRACE, name))["id"] == name

    with pytest.raises(TraceFieldError, match="eikon trace show"):
        render_step(TRACE, "a9")
