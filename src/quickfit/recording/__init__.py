"""The files of one run: what is in them, how they are written and read."""
