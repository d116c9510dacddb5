"""Two things measured in turn, so that a busy machine is unfair to neither."""
