"""What may be changed of a mission, proposed one kind a file; the order stands in `in_order.py`."""
