"""Appliers: search/replace blocks and diffs, Aider, trace patches."""
