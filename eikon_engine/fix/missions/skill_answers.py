"""Compare the results of skills with the recorded ones."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from eikon_engine.trace.execution import SkillUsage
from eikon_engine.trace.located import iter_steps
from eikon_engine.trace.serializer import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.trace.bundle import Bundle
    from eikon_engine.trace.execution import ExecutionTrace

_SHOWN: Final = 120


def changed_skill_results(old: Bundle, repaired: Path) -> tuple[str, ...]:
    """Return one sentence for each skill use with another result in the re-recorded mission."""
    pairs = zip(_skill_uses(old.trace), _skill_uses(read_trace(repaired)), strict=True)
    return tuple(
        f"skill {before.skill} ({before.id}): expected {_result_text(before)}, got {_result_text(after)}"
        for before, after in pairs
        if before.output_recorded and (before.output, before.result.kind) != (after.output, after.result.kind)
    )


def _skill_uses(trace: ExecutionTrace) -> list[SkillUsage]:
    return [step for _, step in iter_steps(trace) if isinstance(step, SkillUsage)]


def _result_text(usage: SkillUsage) -> str:
    text = (
        json.dumps(usage.output, ensure_ascii=False) if usage.result.kind == "ok" else f"an error ({usage.result.kind})"
    )
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
