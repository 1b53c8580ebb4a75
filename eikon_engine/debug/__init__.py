"""Time travel for missions: stop anywhere, look, go back with the state restored, try another way, compare."""
