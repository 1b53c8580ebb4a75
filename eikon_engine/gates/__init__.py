"""Limits on a run, evaluated over its events."""

from eikon_engine.gates.read import parse_gates, parse_gates_at, read_gates_file
from eikon_engine.gates.watch import GateMonitor, GateSet

__all__ = ["GateMonitor", "GateSet", "parse_gates_at", "parse_gates", "read_gates_file"]
