"""A small shop on loopback to record and replay: `eikon demo`."""
