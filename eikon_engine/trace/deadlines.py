"""How long an action waits that does not say it."""

from __future__ import annotations

from typing import Final

DEFAULT_TIMEOUT_MS: Final = 5_000.0
"""For a target or a condition, in page time."""
DEFAULT_NAVIGATION_TIMEOUT_MS: Final = 30_000.0
"""For a document, in real time."""
NO_DEADLINE_MS: Final = 300_000.0
"""For what a recording waited for without a deadline: a replay has to end."""
