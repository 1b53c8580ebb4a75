"""Compare a recording with its replay, layer by layer, and explain what differs."""
