"""Render the history of missions and of the runs of one, in lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.outcome.terminal import safe_line, safe_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eikon_engine.history.runs import HistoryRun, Quarantine
    from eikon_engine.history.stability import MissionHistory

_HEAD: Final = ("MISSION", "LAST RUN", "VERDICT", "PASSED", "TREND", "MEDIAN", "LAST")
_RUNS_HEAD: Final = ("STARTED", "VERDICT", "DURATION", "NETWORK", "BUILD", "CAUSE", "OUTCOME")
_BUILD_LENGTH: Final = 12


def render_missions(missions: Sequence[MissionHistory]) -> str:
    """Return a line for each mission; the reasons are below those that are flaky or broken."""
    if not missions:
        return "no runs yet\n"
    rows = [_HEAD, *(_mission_row(each) for each in missions)]
    lines = list(_align(rows))
    shown = [lines[0]]
    for mission, line in zip(missions, lines[1:], strict=True):
        shown += [line, *(f"  {note}" for note in _notes(mission))]
    return _text(shown)


def render_unstable(missions: Sequence[MissionHistory]) -> str:
    """Return the flaky missions, then the broken ones, each with its reasons."""
    found = [each for state in ("flaky", "broken") for each in missions if each.stability == state]
    if not found:
        return f"no mission is flaky or broken, of {len(missions)}\n"
    lines = []
    for mission in found:
        lines += [
            f"{mission.stability}: {mission.mission_id} {mission.trend}",
            *(f"  {note}" for note in _notes(mission)),
        ]
    return _text(lines)


def render_runs(runs: Sequence[HistoryRun]) -> str:
    """Return a line for each run of a mission, in the given order."""
    rows = [_RUNS_HEAD]
    for run in runs:
        cause = f"{run.signature_text} [{run.signature}]" if run.signature else ""
        seconds = _seconds(run.duration_ms)
        started = f"{run.started_at:%Y-%m-%d %H:%M}"
        rows.append((started, run.verdict, seconds, run.network_mode, run.build[:_BUILD_LENGTH], cause, run.path))
    return _text(_align(rows))


def render_quarantines(quarantines: Iterable[Quarantine]) -> str:
    """Return a line for each mission in quarantine."""
    lines = [f"{each.mission_id}: until {each.until}, since {each.since}: {each.reason}" for each in quarantines]
    return _text(lines) if lines else "no mission is in quarantine\n"


def _mission_row(mission: MissionHistory) -> tuple[str, ...]:
    return (
        mission.mission_id,
        f"{mission.last_run:%Y-%m-%d %H:%M}",
        mission.last_verdict,
        f"{mission.passed} of {mission.runs}",
        mission.trend,
        _seconds(mission.median_ms),
        _seconds(mission.last_ms),
    )


def _seconds(duration_ms: int) -> str:
    return f"{duration_ms / 1000:.1f} s"


def _notes(mission: MissionHistory) -> Iterator[str]:
    for reason in mission.reasons:
        yield f"{mission.stability}: {reason}"
    if mission.quarantine is not None:
        yield f"in quarantine until {mission.quarantine.until}: {mission.quarantine.reason}"


def _align(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the rows with columns of one width, except the last one."""
    escaped = [[safe_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*escaped, strict=True)]
    widths[-1] = 0
    for row in escaped:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _text(lines: Iterable[str]) -> str:
    return safe_lines(lines)
