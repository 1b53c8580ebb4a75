"""Tell what went wrong in a test run: from reports, outcomes, tracebacks, else from its last lines."""
