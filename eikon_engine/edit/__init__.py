"""Edit bundles: list steps, parse edits from the command line, write a changed copy."""
