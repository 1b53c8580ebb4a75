"""Migrations from older trace formats, one module per version."""
