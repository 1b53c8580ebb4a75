"""The tools that are built in, one a module."""
