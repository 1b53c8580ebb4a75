"""Serve real web sites on loopback for tests, benchmarks and recordings."""
