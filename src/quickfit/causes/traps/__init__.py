"""Traps: the training is not what its author thinks it is."""
