"""Findings: what differs between a recording and its replay, layer by layer."""
