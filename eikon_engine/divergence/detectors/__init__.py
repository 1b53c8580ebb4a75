"""Detectors: one layer of the comparison each."""
