"""Outcomes of replays, made by hand, with pictures."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from PIL import Image

from eikon_engine.outcome.divergence import Candidate, Consequence, Divergence, Evidence, Explanation, PropertyMatch
from eikon_engine.outcome.outcomes import (
    ActionOutcome,
    NetworkMiss,
    NetworkOutcome,
    ReplayCounts,
    ReplayOutcome,
    RequestTime,
    ResponseChange,
    SubgoalOutcome,
    ValueChange,
)
from eikon_engine.trace.execution import Artifact, Failed, Succeeded

if TYPE_CHECKING:
    from pathlib import Path

NOW: Final = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def draw(folder: Path, path: str, color: str) -> Artifact:
    """Write a picture of one color; its name is that of its file."""
    data = io.BytesIO()
    Image.new("RGB", (64, 40), color).save(data, "PNG")
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(data.getvalue())
    return Artifact(name=path, path=path)


def make_step(sequence: int, text: str = "Save", artifacts: tuple[Artifact, ...] = ()) -> ActionOutcome:
    """Make a faithful step."""
    return ActionOutcome(
        id=f"action_{sequence}",
        sequence=sequence,
        type="click",
        label=f"click the button {text!r}",
        verdict="faithful",
        expected_result=Succeeded(),
        result=Succeeded(),
        duration_ms=100.0 * sequence,
        artifacts=artifacts,
    )


def make_divergence(sequence: int, text: str) -> Divergence:
    """Make a lost target with one candidate."""
    match = PropertyMatch(name="text", recorded=text, observed=f"{text} now", likeness=0.5)
    return Divergence(
        code="target-missing",
        layer="target",
        subgoal="order__attempt_1",
        subgoal_id="order",
        sequence=sequence,
        expected=f"the button {text!r}",
        observed=f"no button {text!r}",
        message=f"The button {text!r} is missing.",
        detail=f"- {text}\n+ {text} now",
        candidates=(Candidate(frame="", path="body > button", description=text, score=0.75, agreements=(match,)),),
        because=(f"GET http://shop.test/: body line 4: recorded {text}, live {text} now",),
    )


def make_outcome(text: str = "Save", folder: Path | None = None) -> ReplayOutcome:
    """Make a replay of three of four steps, whose second one diverged; `text` is in most of its fields."""
    pictures = () if folder is None else _pictures(folder)
    lost = make_step(2, text, pictures).model_copy(
        update={
            "verdict": "diverged",
            "result": Failed(code="target-missing", message=f"no {text}"),
            "divergences": (make_divergence(2, text),),
            "request_times": (
                RequestTime(method="GET", url=f"http://shop.test/{text}", begin_ms=50.0, duration_ms=25.0, what=text),
            ),
        }
    )
    unknown = make_step(3, text).model_copy(update={"verdict": "unverifiable", "unverifiable": (f"{text}: unknown",)})
    first = make_step(1, text, () if folder is None else (draw(folder, "subgoal_1/001_page.png", "white"),))
    return ReplayOutcome(
        mission_id=f"order {text}",
        mission_text=f"Order, then press {text}",
        trace_id="t",
        trace_path=f"traces/{text}",
        recorded_status="complete",
        started_at=NOW,
        ended_at=NOW + timedelta(seconds=2),
        headless=True,
        network_mode="live",
        browser=f"chromium {text}",
        counts=ReplayCounts(
            subgoals=1, subgoals_recorded=1, actions=3, actions_recorded=4, skills=0, skills_recorded=0
        ),
        verdict="diverged",
        reasons=(f"target-missing at step 2: {text}",),
        explanation=_explain(text),
        subgoals=(
            SubgoalOutcome(
                id="order__attempt_1",
                subgoal_id="order",
                description=f"Order {text}",
                number=1,
                verdict="diverged",
                steps=(first, lost, unknown),
                steps_recorded=4,
            ),
        ),
        network=_network(text),
        warnings=(f"a warning about {text}",),
    )


def _pictures(folder: Path) -> tuple[Artifact, ...]:
    names = {
        "page expected, differences outlined": ("subgoal_1/002_expected.png", "red"),
        "page observed, differences outlined": ("subgoal_1/002_observed.png", "blue"),
        "page at the end of the step": ("subgoal_1/002_page.png", "green"),
    }
    drawn = tuple(draw(folder, path, color).model_copy(update={"name": name}) for name, (path, color) in names.items())
    (folder / "subgoal_1" / "002_dom_diff.txt").write_text("html > body\n  button\n    text\n    - Save\n    + Store\n")
    return (
        *drawn,
        Artifact(name="DOM difference", path="subgoal_1/002_dom_diff.txt"),
        Artifact(name="observation", path="subgoal_1/002_observation.json"),
        Artifact(name="outside", path="../outside.txt"),
    )


def _explain(text: str) -> Explanation:
    return Explanation(
        subgoal="order__attempt_1",
        subgoal_id="order",
        sequence=2,
        code="target-missing",
        cause="site-changed",
        sentence=f"The site has changed: at step 2 of order, the button {text!r} is missing.",
        why=f"the response has {text} now",
        evidence=(Evidence(kind="values", title="Expected and observed", text=f"expected {text}\nobserved nothing"),),
        consequences=(
            Consequence(subgoal="order__attempt_1", subgoal_id="order", sequence=4, label=text, why="it waits for it"),
        ),
    )


def _network(text: str) -> NetworkOutcome:
    change = ResponseChange(
        key=f"GET http://shop.test/{text}",
        occurrence=0,
        subgoal="order__attempt_1",
        sequence=2,
        what=(ValueChange(part="body $.price", recorded=text, live=f"{text} now"),),
    )
    miss = NetworkMiss(key=f"GET http://shop.test/more?{text}", reason=f"no recorded response for {text}")
    return NetworkOutcome(served=3, misses=(miss,), response_changes=(change,), notes=(f"a note about {text}",))
