"""Network traffic of a session: live, sealed, probed, captured."""
