"""What a certification says about differences among its runs."""

from __future__ import annotations

from dataclasses import replace

from eikon_engine.certify.compare_runs import PageChange, compare_action
from eikon_engine.certify.findings import collect_findings
from eikon_engine.certify.runs import ReplayedRun
from eikon_engine.divergence.comparison import StepPosition
from eikon_engine.divergence.dom_diff import DomChange
from eikon_engine.dom.inline_scripts import script_digest
from eikon_engine.outcome.outcomes import ActionOutcome
from eikon_engine.trace.actions import Reload
from eikon_engine.trace.execution import ActionTrace, Succeeded
from tests.report.outcomes import make_divergence, make_outcome


def test_an_inline_script_that_varies_is_shown_where_it_does() -> None:
    """Its digests say nothing; its texts are those of the runs."""
    texts = [f"{'a();' * 100}const t0 = Date.now() - {age}" for age in (2750, 2771)]
    digests = {script_digest(text): text for text in texts}
    script = DomChange(kind="state", frame="", path="html > script", name="script", content="\0".join(digests))
    found = make_divergence(1, "Save").model_copy(update={"code": "dom-changed", "layer": "dom"})
    action = ActionTrace(id="a", sequence=1, action=Reload(), result=Succeeded())
    seen = ActionOutcome(
        id="a", sequence=1, type="reload", label="reload", expected_result=Succeeded(), result=None, verdict="faithful"
    )
    place = StepPosition(subgoal="s", subgoal_id="s", sequence=1)
    change = PageChange(run=1, url="http://a/", change=script)
    compared = replace(
        compare_action(place, action, (seen, seen), ((), {})),
        unstable=(found,),
        dom_changes=(change,),
        differing_runs=1,
    )

    messages = []
    for known in ({}, digests):
        run = ReplayedRun(outcome=make_outcome(), inline_scripts=known)
        messages.append(next(each.message for each in collect_findings((compared,), (run,)) if each.kind == "unstable"))

    assert "script at" not in messages[0]
    assert "Date.now() - 2750' in the script at html > script, another '" in messages[1]
    assert "Date.now() - 2771'" in messages[1]
    assert "a();" * 50 not in messages[1]
