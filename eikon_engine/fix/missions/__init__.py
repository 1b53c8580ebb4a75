"""`eikon fix trace`: mend a recorded mission that the site of today leads off its way."""
