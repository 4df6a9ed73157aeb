"""A small parser over frozen heads, from the bottom up: maps, features, scorers, learning, decoding, results."""
