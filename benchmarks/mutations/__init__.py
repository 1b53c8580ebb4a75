"""Changes the recorded responses or the trace of a mission, and checks that the replay reports the change."""
