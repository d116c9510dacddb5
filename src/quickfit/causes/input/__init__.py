"""Causes in the input pipeline."""
