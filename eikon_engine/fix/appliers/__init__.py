"""Make the changes that fixes propose: our own for blocks and diffs, Aider, patches of traces."""
