"""Certify a recording right after it was made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eikon_engine.certify.certify import accept, certify
from eikon_engine.trace.bundle import open_bundle

if TYPE_CHECKING:
    from pathlib import Path

    from eikon_engine.certify.options import CertifyOptions
    from eikon_engine.outcome.certification import CertificationReport


async def certify_recording(directory: Path, options: CertifyOptions) -> CertificationReport:
    """Replay a recording until its replays agree and accept the result as the first baseline.

    Raises:
        EikonError: as `certify`.
    """
    bundle = open_bundle(directory)
    certification = await certify(bundle, options)
    if certification.report.status in {"certified", "proposed"}:
        return accept(bundle, certification)
    return certification.report
