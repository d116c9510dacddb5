"""Reads and rewrites training loops written by hand."""
