"""What the history keeps of a replay."""

from __future__ import annotations

import hashlib
from datetime import date
from typing import TYPE_CHECKING, Final, Literal

from pydantic import AwareDatetime, Field

from eikon_engine.files.models import FileModel
from eikon_engine.outcome.divergence import Cause
from eikon_engine.outcome.outcomes import NetworkMode, Verdict
from eikon_engine.outcome.verdict import combine_verdicts
from eikon_engine.triage.signature import sign

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eikon_engine.outcome.outcomes import ReplayOutcome

HISTORY_RUN_VERSION: Literal[1] = 1
BUILD_VARIABLE: Final = "EIKON_BUILD"
_MAX_MISSION_ID: Final = 600
"""Characters: an index of PostgreSQL holds 2,704 bytes."""
_MAX_DURATION_MS: Final = 2**31 - 1
_CI_BUILD_VARIABLES: Final = (
    "GITHUB_SHA",
    "CI_COMMIT_SHA",
    "BUILD_SOURCEVERSION",
    "BITBUCKET_COMMIT",
    "CIRCLE_SHA1",
    "GIT_COMMIT",
)
"""Variables in which GitHub, GitLab, Azure, Bitbucket, CircleCI and Jenkins give the commit."""


class HistoryRun(FileModel):
    """One replay."""

    history_run_version: Literal[1] = HISTORY_RUN_VERSION
    id: str = Field(pattern="^[0-9a-f]{32}$")
    """The same for the same outcome, so that none is counted twice."""
    mission_id: str
    trace_id: str
    plan_digest: str
    """SHA-256 of the planned steps: runs with another one replayed something else. Empty if unknown."""
    build: str
    """Version of the site, or of what is under test; empty if unknown."""
    network_mode: NetworkMode
    verdict: Verdict
    """That of the replay and its gates."""
    cause: Cause
    """Class of the first cause; `unknown` also if the run is faithful."""
    signature: str
    """Id of the cause, as in a triage; empty if the run is faithful."""
    signature_text: str
    """The cause in a line; empty if the run is faithful."""
    started_at: AwareDatetime
    duration_ms: int = Field(ge=0)
    path: str
    """The outcome, where it was written."""

    @property
    def has_passed(self) -> bool:
        """Whether the replay was faithful, and its gates passed."""
        return self.verdict == "faithful"


class Quarantine(FileModel):
    """A mission whose failures count for nothing until a day, and why."""

    mission_id: str
    reason: str = Field(min_length=1)
    since: date
    until: date
    """The last day."""

    def holds_on(self, day: date) -> bool:
        """Whether the quarantine is not over."""
        return day <= self.until


def summarize_run(outcome: ReplayOutcome, path: str, build: str) -> HistoryRun:
    """Return what the history keeps of an outcome that was written to `path`."""
    verdict = combine_verdicts((outcome.verdict, *(gate.verdict for gate in outcome.gates)))
    signature = None if verdict == "faithful" else sign(outcome).signature
    seconds = (outcome.ended_at - outcome.started_at).total_seconds()
    return HistoryRun(
        id=_run_id(outcome),
        mission_id=_storable(outcome.mission_id)[:_MAX_MISSION_ID],
        trace_id=_storable(outcome.trace_id),
        plan_digest=outcome.plan_digest or "",
        build=_storable(build),
        network_mode=outcome.network_mode,
        verdict=verdict,
        cause="unknown" if signature is None else signature.cause,
        signature="" if signature is None else signature.id,
        signature_text="" if signature is None else _storable(str(signature)),
        started_at=outcome.started_at,
        duration_ms=min(max(0, round(seconds * 1000)), _MAX_DURATION_MS),
        path=_storable(path),
    )


def find_build(environ: Mapping[str, str]) -> str:
    """Return the build of EIKON_BUILD, else the commit of a CI system; empty if neither is known."""
    return next(filter(None, (environ.get(name) for name in (BUILD_VARIABLE, *_CI_BUILD_VARIABLES))), "")


def _storable(text: str) -> str:
    """Replace what databases do not store: NUL, and halves of surrogate pairs."""
    return text.encode("utf-8", "replace").decode().replace("\0", "?")


def _run_id(outcome: ReplayOutcome) -> str:
    """Return a digest of an outcome, wherever its bundle was."""
    return hashlib.sha256(outcome.model_dump_json(exclude={"trace_path"}).encode("utf-8", "replace")).hexdigest()[:32]
