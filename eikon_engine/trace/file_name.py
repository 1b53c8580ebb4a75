"""File names derived from arbitrary ids."""

from __future__ import annotations

import re

_LONGEST = 100


def file_name_for(text: str, otherwise: str) -> str:
    """Replace unsafe characters by underscores; return `otherwise` if nothing is left."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip(".")[:_LONGEST] or otherwise
