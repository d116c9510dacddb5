"""The input of the moved variant."""
