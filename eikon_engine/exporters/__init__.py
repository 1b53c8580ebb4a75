"""Export traces, or parts of them, to the formats of other tools. Pure: no browser, no socket."""
