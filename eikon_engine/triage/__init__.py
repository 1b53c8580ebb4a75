"""Group failed replays by what caused them."""
