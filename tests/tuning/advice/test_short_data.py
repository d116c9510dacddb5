"""Data with fewer samples than a batch, and epochs of few steps, as the children feed them."""

import numpy as np
import pytest

from quickfit.tuning.trials.feeds import in_memory, make_feed

pytestmark = pytest.mark.loads_tf

X = np.arange(20, dtype="float32").reshape(20, 1)


def test_a_batch_is_never_larger_than_the_arrays(tf):
    feed = make_feed((X, X), None, 32)
    assert (feed.batch, feed.samples) == (20, 20)
    assert feed.arguments()["batch_size"] == 20
    assert feed.rest() is None


@pytest.mark.parametrize(("batch", "steps"), [(20, 1), (8, 3)])
def test_from_memory_an_epoch_has_as_many_steps_as_the_users(tf, batch, steps):
    fed = in_memory(make_feed((X, X), batch, 32)).arguments()
    assert int(fed["x"].cardinality()) == steps
    assert "steps_per_epoch" not in fed
