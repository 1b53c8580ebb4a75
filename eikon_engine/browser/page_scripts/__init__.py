"""Scripts that run in pages, and their loader."""
