"""Names of files made from ids, which may hold anything."""

from __future__ import annotations

import re

_LONGEST = 100


def file_name_for(text: str, otherwise: str) -> str:
    """Keep letters, digits, dots, dashes and underscores; `otherwise` where nothing is left."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip(".")[:_LONGEST] or otherwise
