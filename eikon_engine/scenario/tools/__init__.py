"""Built-in tools, one per module."""
