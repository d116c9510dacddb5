"""Batch normalization: statistics measured anew, and layers folded into those in front of them."""
