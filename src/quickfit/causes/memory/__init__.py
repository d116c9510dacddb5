"""Causes: memory, files and GPU memory that run out, and what comes with them."""
