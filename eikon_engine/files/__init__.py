"""Files: whole writes, JSON Lines, blobs, YAML, paths."""
