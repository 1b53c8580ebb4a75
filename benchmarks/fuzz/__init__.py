"""Feeds every reader of untrusted input with millions of broken inputs: `python -m benchmarks.fuzz`."""
