"""Proves a fix: short safe runs of the script with and without it, in turn, and compared."""
