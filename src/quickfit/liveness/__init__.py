"""Who waits for whom, since when: what a run that does not move is doing, and why."""
