"""What comes out of a replay: events, findings, outcomes."""
