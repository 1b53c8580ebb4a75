"""The reader of traces under its older name; see `eikon_engine.trace.trace_file`."""

from __future__ import annotations

from eikon_engine.trace.trace_file import ExecutionTraceSerializer, read_trace

__all__ = ["ExecutionTraceSerializer", "read_trace"]
