"""Time-travel debugging for missions: pause anywhere, inspect, rewind with restored state, branch, compare."""
