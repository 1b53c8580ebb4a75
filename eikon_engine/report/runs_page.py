"""Render the list of runs, and a bundle, as pages of the local site."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from eikon_engine.files.text import pluralize
from eikon_engine.report.templates import page_file, page_template
from eikon_engine.trace.execution import ActionTrace, Failed
from eikon_engine.trace.labels import step_label
from eikon_engine.trace.steps import iter_steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from eikon_engine.history.runs import HistoryRun
    from eikon_engine.history.stability import MissionHistory
    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.steps import Step

SHOWN_RUNS: Final = 500
"""Runs that the list shows."""
STATES: Final = ("faithful", "diverged", "unverifiable", "running", "interrupted", "unreadable")


class ListedRun(Protocol):
    """A run of the list."""

    @property
    def id(self) -> str:
        """Return the part of its address."""

    @property
    def path(self) -> str:
        """Return its folder."""

    @property
    def mission_id(self) -> str:
        """Return the id of its mission."""

    @property
    def state(self) -> str:
        """Return its verdict, `running`, `interrupted` or `unreadable`."""

    @property
    def summary(self) -> HistoryRun | None:
        """Return what the history keeps of it; None if it has not ended."""

    @property
    def problem(self) -> str:
        """Return why it cannot be read."""

    @property
    def steps(self) -> tuple[int, int]:
        """Return the steps so far, and those of the recording."""


class _ShownStep(NamedTuple):
    number: int
    subgoal: str
    label: str
    result: str
    url: str
    requests: int
    begun_ms: int | None


class ListedRuns(NamedTuple):
    """The runs of a folder at one time."""

    every: Sequence[ListedRun]
    chosen: Sequence[ListedRun]
    """Those that are listed."""
    state: str
    """Changes whenever a run starts, goes on or ends."""


def render_runs_page(listed: ListedRuns, *, words: str, verdict: str) -> str:
    """Return the list of the chosen runs; it follows the folder while it is open."""
    runs, chosen, state_of_folder = listed
    script = page_file("runs.js")
    numbers = ((sum(run.state == state for run in chosen), state) for state in STATES)
    counts = ", ".join(f"{number} {state}" for number, state in numbers if number)
    of_all = "" if len(chosen) == len(runs) else f"{len(chosen)} of "
    return page_template("runs.html").render(
        headline=f"{of_all}{pluralize(len(runs), 'run')}: {counts or ('none fits' if runs else 'none yet')}",
        runs=chosen[:SHOWN_RUNS],
        hidden=max(0, len(chosen) - SHOWN_RUNS),
        ended=[run for run in runs if run.summary is not None][:SHOWN_RUNS],
        words=words,
        verdict=verdict,
        states=STATES,
        state=state_of_folder,
        script=script,
        script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def render_history_page(missions: Sequence[MissionHistory]) -> str:
    """Return what became of each mission: flaky ones first, then broken ones."""
    order = ("flaky", "broken", "steady")
    return page_template("history.html").render(
        headline=f"History of {pluralize(len(missions), 'mission')}",
        missions=sorted(missions, key=lambda each: (order.index(each.stability), each.mission_id)),
    )


def render_bundle_page(bundle: Bundle) -> str:
    """Return what a bundle has recorded, step by step."""
    return page_template("bundle.html").render(trace=bundle.trace, path=bundle.root, steps=list(_steps(bundle)))


def _steps(bundle: Bundle) -> Iterator[_ShownStep]:
    for number, (subgoal, step) in enumerate(iter_steps(bundle.trace), start=1):
        seen = step.observation if isinstance(step, ActionTrace) else None
        yield _ShownStep(
            number=number,
            subgoal=subgoal.id,
            label=step_label(step),
            result=_result(step),
            url="" if seen is None else ", ".join(page.url for page in seen.pages),
            requests=0 if seen is None else len(seen.requests),
            begun_ms=None if seen is None or seen.begun_ms is None else round(seen.begun_ms),
        )


def _result(step: Step) -> str:
    return step.result.code if isinstance(step.result, Failed) else step.result.kind
