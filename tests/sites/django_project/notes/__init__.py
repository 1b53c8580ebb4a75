"""Keep notes: the one model of the site."""
