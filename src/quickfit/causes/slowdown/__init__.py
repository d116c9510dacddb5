"""Causes of trainings that get slower as they run."""
