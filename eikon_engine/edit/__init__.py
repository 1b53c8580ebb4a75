"""Edit bundles: list what is in them, read changes as people write them, write a changed copy."""
