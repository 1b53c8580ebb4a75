"""Import recordings of other tools as missions. Pure: no browser, no socket."""
