"""Branches: variants of a mission, each a bundle of its own with a pointer to its fork."""
