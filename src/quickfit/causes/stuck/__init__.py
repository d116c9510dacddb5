"""Causes of a run that does not move."""
