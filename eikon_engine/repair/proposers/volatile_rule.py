"""Propose rules for request parts that vary between runs, found by certifying the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from eikon_engine.certify.certify import certify
from eikon_engine.certify.options import CertifyOptions
from eikon_engine.repair.proposers.proposer import ProposedRepair
from eikon_engine.repair.report import Repair
from eikon_engine.trace.patch import AddRule, describe_operation, operation_reason

if TYPE_CHECKING:
    from eikon_engine.repair.diagnosis import Diagnosis
    from eikon_engine.repair.options import RepairOptions

REQUEST_CODES: Final = frozenset({"request-changed", "request-missing", "request-unexpected", "request-not-recorded"})


async def volatile_rule(diagnosis: Diagnosis, options: RepairOptions) -> ProposedRepair | None:
    """Propose the rules that make the recording deterministic; None if something else differs, too."""
    bundle = diagnosis.bundle
    only_requests_differ = all(found.code in REQUEST_CODES for found in diagnosis.last.findings)
    if not only_requests_differ or bundle.trace.network is None:
        return None
    chosen = CertifyOptions(
        runs=max(options.runs, 2),
        headless=options.headless,
        browser_path=options.browser_path,
        secrets=options.secrets,
        now=options.now,
    )
    report = (await certify(bundle, chosen)).report
    operations = report.patch.operations
    if report.status != "proposed" or not all(isinstance(each, AddRule) for each in operations):
        return None
    reason = "; ".join(f"{describe_operation(each)}: {operation_reason(each)}" for each in operations)
    return ProposedRepair(
        repair=Repair(proposer="volatile-rule", patch=report.patch, reason=reason),
        comparison_patch=report.patch,
    )
