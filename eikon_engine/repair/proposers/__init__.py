"""Proposers of changes to a mission, one kind per file; the order is in `in_order.py`."""
