"""Limits on a run, evaluated over its events."""

from eikon_engine.gates.read import gates_in, read_gates, read_gates_file
from eikon_engine.gates.watch import Gates, GateWatch

__all__ = ["GateWatch", "Gates", "gates_in", "read_gates", "read_gates_file"]
