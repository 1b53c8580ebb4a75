"""Find the code that belongs to a failure."""
