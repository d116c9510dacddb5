"""Causes of sporadic slow steps."""
