"""Traces, or parts of them, in the formats of other tools. Pure: no browser, no socket."""
