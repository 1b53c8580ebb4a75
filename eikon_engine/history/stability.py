"""What the runs of a mission say about it: flaky, broken since when, or steady; how long it takes."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise, takewhile
from statistics import median
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from pydantic import AwareDatetime, Field

from eikon_engine.files.models import FileModel
from eikon_engine.files.text import pluralize
from eikon_engine.history.runs import Quarantine
from eikon_engine.outcome.outcomes import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eikon_engine.history.runs import HistoryRun

Stability: TypeAlias = Literal["steady", "flaky", "broken"]
TREND_RUNS: Final = 10
"""Verdicts of a trend."""
MIN_CHANGES: Final = 2
"""Changes between passed and failed, sealed or with an unknown build, from which on a mission is flaky: a single one
may be the day on which the site, or what is ignored, was changed."""
SHOWN_CAUSES: Final = 3
"""Causes that a reason names."""


class MissionHistory(FileModel):
    """The last runs of a mission."""

    mission_id: str
    stability: Stability
    """flaky: equal runs ended differently; broken: the last runs failed; steady: anything else."""
    reasons: tuple[str, ...]
    """Why it is flaky or broken."""
    runs: int
    passed: int
    last_verdict: Verdict
    last_run: AwareDatetime
    failing_since: AwareDatetime | None
    """Start of the first of the last runs that all failed; None if the last one passed."""
    trend: str
    """One sign a run, the last one at the end: `+` faithful, `-` diverged, `?` unverifiable."""
    median_ms: int = Field(ge=0)
    last_ms: int = Field(ge=0)
    quarantine: Quarantine | None = None
    """The quarantine of the mission, unless it is over."""


def summarize_mission(runs: Sequence[HistoryRun], quarantine: Quarantine | None = None) -> MissionHistory:
    """Summarize the runs of one mission, of which there is at least one, whatever their order."""
    ordered = sorted(runs, key=lambda each: (each.started_at, each.id))
    failing = list(takewhile(lambda each: not each.has_passed, reversed(ordered)))
    flaky = tuple(_flaky_reasons(ordered))
    last = ordered[-1]
    return MissionHistory(
        mission_id=last.mission_id,
        stability="flaky" if flaky else "broken" if failing else "steady",
        reasons=flaky or ((_broken_reason(failing),) if failing else ()),
        runs=len(ordered),
        passed=sum(each.has_passed for each in ordered),
        last_verdict=last.verdict,
        last_run=last.started_at,
        failing_since=failing[-1].started_at if failing else None,
        trend="".join(map(_sign, ordered[-TREND_RUNS:])),
        median_ms=round(median(each.duration_ms for each in ordered)),
        last_ms=last.duration_ms,
        quarantine=quarantine,
    )


def _sign(run: HistoryRun) -> str:
    return {"faithful": "+", "diverged": "-"}.get(run.verdict, "?")


def _flaky_reasons(runs: Sequence[HistoryRun]) -> list[str]:
    """Return a reason for each plan of a recording that ended differently with one build, or sealed."""
    alike: defaultdict[tuple[str, str, str], list[HistoryRun]] = defaultdict(list)
    for run in runs:
        if run.plan_digest:
            what = "sealed" if run.network_mode == "sealed" else f"build {run.build}"
            alike[run.trace_id, run.plan_digest, what].append(run)
    return [_flaky_reason(what, group) for (*_, what), group in alike.items() if _is_flaky(what, group)]


def _is_flaky(what: str, runs: Sequence[HistoryRun]) -> bool:
    changes = sum(before.has_passed != after.has_passed for before, after in pairwise(runs))
    return changes >= (MIN_CHANGES if what in {"sealed", "build "} else 1)


def _flaky_reason(what: str, runs: Sequence[HistoryRun]) -> str:
    passed = sum(each.has_passed for each in runs)
    where = {"sealed": "against the same recording", "build ": "with an unknown build"}.get(what, f"with {what}")
    return f"{passed} of {pluralize(len(runs), 'equal run')} {where} passed; {_causes(runs)}"


def _broken_reason(failing: Sequence[HistoryRun]) -> str:
    """Return since when a mission fails, the last run first, and why."""
    first = failing[-1]
    build = f", since build {first.build}" if first.build else ""
    number = pluralize(len(failing), "run")
    return f"failed in the last {number}, since {first.started_at:%Y-%m-%d %H:%M}{build}; {_causes(failing)}"


def _causes(runs: Sequence[HistoryRun]) -> str:
    """Return what stopped the runs, most frequent first."""
    counts = Counter(f"{each.signature_text} [{each.signature}]" for each in runs if not each.has_passed)
    ordered = sorted(counts, key=lambda text: (-counts[text], text))
    more = f" and {len(ordered) - SHOWN_CAUSES} more" if len(ordered) > SHOWN_CAUSES else ""
    return f"{', '.join(f'{text} ({counts[text]})' for text in ordered[:SHOWN_CAUSES])}{more}"
