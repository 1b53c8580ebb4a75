"""Runs of a history."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from eikon_engine.history import HistoryRun

if TYPE_CHECKING:
    from eikon_engine.outcome.outcomes import NetworkMode, Verdict

START: Final = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
_VERDICTS: Final[dict[str, Verdict]] = {"+": "faithful", "-": "diverged", "?": "unverifiable"}


def make_run(  # noqa: PLR0913 - what distinguishes runs
    number: int,
    sign: str = "+",
    *,
    mission: str = "order",
    build: str = "",
    network: NetworkMode = "live",
    plan: str = "a" * 64,
    signature: str = "0123abcd",
    duration_ms: int = 1500,
) -> HistoryRun:
    """Make a run that started some minutes after the first one; its sign is that of a trend."""
    failed = sign != "+"
    return HistoryRun(
        id=f"{hash_of(mission):08x}{number:024x}",
        mission_id=mission,
        trace_id=mission,
        plan_digest=plan,
        build=build,
        network_mode=network,
        verdict=_VERDICTS[sign],
        cause="test-data" if failed else "unknown",
        signature=signature if failed else "",
        signature_text="test-data: GET /api/items/{id}: $.price: another value" if failed else "",
        started_at=START + timedelta(minutes=number),
        duration_ms=duration_ms,
        path=f"/runs/{mission}/{number}/outcome.json",
    )


def make_runs(
    signs: str, *, build: str = "", network: NetworkMode = "live", mission: str = "order"
) -> list[HistoryRun]:
    """Make the runs of a trend."""
    return [make_run(number, sign, build=build, network=network, mission=mission) for number, sign in enumerate(signs)]


def hash_of(text: str) -> int:
    """Return a number below 2**32 that is the same in each process."""
    return int.from_bytes(text.encode()[:4].ljust(4), "big")
