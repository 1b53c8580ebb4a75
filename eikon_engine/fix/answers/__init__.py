"""Parse answers of models: search/replace blocks, unified diffs, or "no fix"."""
