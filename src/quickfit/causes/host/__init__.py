"""Causes in Python code that runs beside the compiled step."""
