"""Run the migrations on the connection that the history has opened. Alembic executes this file by its path."""

from __future__ import annotations

from alembic import context


def migrate() -> None:
    """Bring the database up to date."""
    context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
    context.run_migrations()


if __name__ == "env_py":  # as Alembic names it
    migrate()
