"""Missions as an agent would drive them, to be recorded by tests and scripts."""
