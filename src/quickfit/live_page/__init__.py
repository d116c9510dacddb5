"""The page of a run while it goes on: served on this machine alone, drawn again as it grows."""
