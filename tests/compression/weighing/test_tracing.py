"""Advice that nobody can follow is held back."""

import logging

import pytest

from quickfit.compression.weighing.tracing import without_tracing_advice

pytestmark = pytest.mark.loads_tf


def test_advice_on_tracing_is_held_back_and_nothing_else(tf, caplog):
    logger = tf.get_logger()
    filters = list(logger.filters)
    logger.propagate, kept = True, logger.propagate
    try:
        with without_tracing_advice(), caplog.at_level(logging.WARNING, logger.name):
            logger.warning("5 calls triggered tf.function retracing")
            logger.warning("something else")
    finally:
        logger.propagate = kept
    assert caplog.messages == ["something else"]
    assert logger.filters == filters
