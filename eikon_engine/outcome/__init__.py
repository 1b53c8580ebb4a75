"""The results of a replay: events, divergences and outcomes."""
