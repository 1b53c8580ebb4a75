"""Notes: the only app of the site."""
