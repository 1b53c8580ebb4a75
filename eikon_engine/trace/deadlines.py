"""Default timeouts of actions."""

from __future__ import annotations

from typing import Final

DEFAULT_TIMEOUT_MS: Final = 5_000.0
"""For a target or condition, in page time."""
DEFAULT_NAVIGATION_TIMEOUT_MS: Final = 30_000.0
"""For a navigation, in wall time."""
UNBOUNDED_TIMEOUT_MS: Final = 300_000.0
"""For what was recorded without a timeout, since a replay must end."""
