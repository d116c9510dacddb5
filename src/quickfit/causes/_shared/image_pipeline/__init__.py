"""Rewrites Python code that loads images as a `tf.data` pipeline."""
