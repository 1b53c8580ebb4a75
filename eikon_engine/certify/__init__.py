"""Certify a bundle: replay it several times, and find what makes the runs differ."""
