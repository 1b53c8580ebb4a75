"""Recordings of other tools, read as missions of ours. Pure: no browser, no socket."""
