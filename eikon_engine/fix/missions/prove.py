"""The proof of a mended mission: strict sealed replays that are all faithful."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.certify.certify import accept, certify
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.fix.missions.report import Repair
from eikon_engine.trace.bundle import open_bundle
from eikon_engine.trace.patch import AddRule, SetEnvironment, SetSettle, SetTimeline, TracePatch, describe
from eikon_engine.trace.wording import counted

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.certify.certification import CertificationReport
    from eikon_engine.fix.missions.options import RepairOptions

_KEEPS_COVERAGE: Final = (AddRule, SetSettle, SetTimeline, SetEnvironment)
"""What certifying may add without being asked: no mask and no baseline, which hide what differs."""


async def prove(folder: Path, options: RepairOptions) -> CertificationReport:
    """Replay a mended bundle as often as asked for, and certify it if all runs are faithful.

    Raises:
        EikonError: a run could not come to its end.
    """
    chosen = CertifyOptions(
        runs=options.runs,
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
    """Name what would have to be compared no more, or otherwise, for the runs to agree."""
    return tuple(describe(each) for each in report.patch.operations if not isinstance(each, _KEEPS_COVERAGE))


def refusal_of_proof(report: CertificationReport) -> str:
    """Say why the replays prove nothing."""
    lost = lost_coverage(report)
    if lost:
        return (
            f"the mended mission replays alike only with other changes ({'; '.join(lost)}): try `eikon certify` on it"
        )
    first = report.findings[0] if report.findings else None
    told = "" if first is None else f": {first.step}: {first.message}"
    runs = counted(report.runs, "sealed replay")
    return f"{runs} of the mended mission did not prove it ({report.status}){told}"


def repairs_by_certifying(report: CertificationReport) -> tuple[Repair, ...]:
    """Tell what certifying added."""
    operations = report.patch.operations
    if not operations:
        return ()
    reason = "; ".join(describe(each) for each in operations)
    return (Repair(proposer="certify", patch=TracePatch(operations=operations), reason=reason),)
