"""Find the code relevant to a failure."""
