"""Certify a bundle: replay it many times, and find out what keeps the runs from being equal."""
