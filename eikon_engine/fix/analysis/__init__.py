"""Tell what went wrong in a test run from what it left: the report of pytest, outcomes, tracebacks, else the last lines."""
