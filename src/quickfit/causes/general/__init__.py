"""Large parts of a run that no other cause explains: their place, their size, what to try."""
