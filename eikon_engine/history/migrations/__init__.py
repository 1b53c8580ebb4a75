"""Migrations of the history database, run by Alembic when it is opened."""
