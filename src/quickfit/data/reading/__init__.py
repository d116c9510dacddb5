"""Packs and TFRecord files as `tf.data` pipelines: `records`."""

from quickfit.data.reading.dataset import records

__all__ = ["records"]
