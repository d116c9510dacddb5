"""The `tf.data` pipeline from image files: `images`."""

from quickfit.data.imaging.factory import images

__all__ = ["images"]
