"""The models of a trace under the names of the format "v3.1"; they are those of this version."""

from __future__ import annotations

from eikon_engine.trace.execution import ActionTrace, ExecutionTrace, SkillUsage, SubgoalTrace
from eikon_engine.trace.execution import Artifact as ArtifactRecord
from eikon_engine.trace.execution import Extraction as ExtractionRecord
from eikon_engine.trace.execution import Failure as FailureRecord
from eikon_engine.trace.execution import MissionStatus as TraceStatus
from eikon_engine.trace.execution import PageIntent as PageIntentRecord

__all__ = [
    "ActionTrace",
    "ArtifactRecord",
    "ExecutionTrace",
    "ExtractionRecord",
    "FailureRecord",
    "PageIntentRecord",
    "SkillUsage",
    "SubgoalTrace",
    "TraceStatus",
]
