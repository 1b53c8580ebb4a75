"""Many bundles as a suite: found, selected, replayed in several processes, reported together."""
