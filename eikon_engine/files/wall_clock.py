"""Wall time and randomness, for entry points that pass them on."""

from __future__ import annotations

import secrets
import uuid
from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the current wall time in UTC."""
    return datetime.now(UTC)  # noqa: TID251 - the only place that reads it


def random_key() -> bytes:
    """Return a random key of 32 bytes."""
    return secrets.token_bytes(32)


def random_id() -> str:
    """Return a random UUID."""
    return str(uuid.uuid4())  # noqa: TID251 - the only place that creates one
