"""What goes into a replay: the trace and its bundle."""
