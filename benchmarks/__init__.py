"""Benchmarks, not tests: each one prints its measurements."""
