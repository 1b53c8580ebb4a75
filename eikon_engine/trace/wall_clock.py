"""The clock and the chance of the outside world, for the edges that hand them in."""

from __future__ import annotations

import secrets
import uuid
from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the time of day."""
    return datetime.now(UTC)  # noqa: TID251 - the one place that reads it


def fresh_key() -> bytes:
    """Draw a key that nobody foretells."""
    return secrets.token_bytes(32)


def fresh_id() -> str:
    """Draw an id that nobody else has."""
    return str(uuid.uuid4())  # noqa: TID251 - the one place that draws one
