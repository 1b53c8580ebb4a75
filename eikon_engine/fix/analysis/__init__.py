"""Extract failures from a test run: from reports, replay outcomes and tracebacks, or else from the last lines."""
