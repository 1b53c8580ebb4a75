"""Prove a repaired mission by strict sealed replays that must all be faithful."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.certify.certify import accept, certify
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.files.text import pluralize
from eikon_engine.repair.report import Repair
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.patch import AddRule, SetEnvironment, SetPageTime, SetTimeline, TracePatch, describe_operation

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.outcome.certification import CertificationReport
    from eikon_engine.repair.options import RepairOptions

_KEEPS_COVERAGE: Final = (AddRule, SetPageTime, SetTimeline, SetEnvironment)
"""What certification may add by itself: no masks or baselines, which hide differences."""


async def prove_repair(folder: Path, options: RepairOptions) -> CertificationReport:
    """Replay a repaired bundle, and certify it if all runs are faithful.

    Raises:
        EikonError: a run could not complete.
    """
    chosen = CertifyOptions(
        runs=options.runs,
        headless=options.headless,
        browser_path=options.browser_path,
        secrets=options.secrets,
        progress=options.progress,
        now=options.now,
    )
    bundle = open_bundle(folder)
    certification = await certify(bundle, chosen)
    report = certification.report
    if report.certificate is not None and not lost_coverage(report):
        return accept(bundle, certification)
    return report.model_copy(update={"certificate": None})


def lost_coverage(report: CertificationReport) -> tuple[str, ...]:
    """Return the changes that would reduce coverage, which the runs need to agree."""
    return tuple(describe_operation(each) for each in report.patch.operations if not isinstance(each, _KEEPS_COVERAGE))


def proof_refusal(report: CertificationReport) -> str:
    """Return why the replays prove nothing."""
    lost = lost_coverage(report)
    if lost:
        return (
            f"the repaired mission is deterministic only with further changes ({'; '.join(lost)}): run `eikon certify`"
        )
    first = report.findings[0] if report.findings else None
    detail = "" if first is None else f": {first.step}: {first.message}"
    runs = pluralize(report.runs, "sealed replay")
    return f"{runs} of the repaired mission did not prove it ({report.status}){detail}"


def certification_repairs(report: CertificationReport) -> tuple[Repair, ...]:
    """Return the changes that certification added."""
    operations = report.patch.operations
    if not operations:
        return ()
    reason = "; ".join(describe_operation(each) for each in operations)
    return (Repair(proposer="certify", patch=TracePatch(operations=operations), reason=reason),)
