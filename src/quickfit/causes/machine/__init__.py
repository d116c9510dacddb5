"""Causes outside the script: the machine it runs on."""
