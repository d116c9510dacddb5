"""Keeps TensorFlow's advice about tracing away from people who did not write what is traced."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_tracing_advice() -> Iterator[None]:
    """Hold back the warning that functions are traced often: here each is another model."""
    import tensorflow as tf

    def is_other(record: logging.LogRecord) -> bool:
        return "tf.function retracing" not in record.getMessage()

    logger = tf.get_logger()
    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)
