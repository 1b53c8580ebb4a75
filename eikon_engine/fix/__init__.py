"""The debug loop: test, analyse, fix, test again."""
