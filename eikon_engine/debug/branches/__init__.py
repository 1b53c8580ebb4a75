"""Branches: other ways of a mission, each a bundle of its own with a pointer to where it left its parent."""
