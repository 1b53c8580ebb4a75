"""Limits on a run, evaluated over its events."""

from eikon_engine.gates.monitor import GateMonitor, GateSet
from eikon_engine.gates.reading import parse_gates, parse_gates_at, read_gates_file

__all__ = ["GateMonitor", "GateSet", "parse_gates", "parse_gates_at", "read_gates_file"]
