"""Older trace formats, one module for each version."""
