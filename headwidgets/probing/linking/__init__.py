"""Which head finds which link? Examples, the pass over maps, baselines, verdicts and what is found."""
