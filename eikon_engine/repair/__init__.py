"""Repair a recorded mission whose site changed: `eikon fix trace`."""
