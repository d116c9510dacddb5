"""Causes in how the step is traced and compiled."""
