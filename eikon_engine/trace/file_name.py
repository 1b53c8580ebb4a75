"""File names derived from arbitrary ids."""

from __future__ import annotations

import re

_MAX_LENGTH = 100


def safe_file_name(text: str, default: str) -> str:
    """Replace unsafe characters by underscores; return `otherwise` if nothing is left."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip(".")[:_MAX_LENGTH] or default
