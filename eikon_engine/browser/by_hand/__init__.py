"""Hear what a person does to pages, and how each element they act on can be named."""
