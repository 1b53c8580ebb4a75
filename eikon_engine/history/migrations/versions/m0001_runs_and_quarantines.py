"""Runs and quarantines."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "runs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("mission_id", sa.Text, nullable=False),
        sa.Column("trace_id", sa.Text, nullable=False),
        sa.Column("plan_digest", sa.String(64), nullable=False),
        sa.Column("build", sa.Text, nullable=False),
        sa.Column("network_mode", sa.String(16), nullable=False),
        sa.Column("verdict", sa.String(16), nullable=False),
        sa.Column("cause", sa.String(32), nullable=False),
        sa.Column("signature", sa.String(8), nullable=False),
        sa.Column("signature_text", sa.Text, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("duration_ms", sa.Integer, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
    )
    op.create_index("runs_of_mission", "runs", ["mission_id", "started_at"])
    op.create_index("runs_with_signature", "runs", ["signature", "started_at"])
    op.create_table(
        "quarantines",
        sa.Column("mission_id", sa.Text, primary_key=True),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("since", sa.Date, nullable=False),
        sa.Column("until", sa.Date, nullable=False),
    )
