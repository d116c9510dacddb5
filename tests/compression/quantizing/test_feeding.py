"""Samples for the converter and for models."""

import numpy as np
import pytest

from compression import models
from quickfit.compression.quantizing.feeding import batches, feeds, finite_samples
from quickfit.errors import UsageError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def test_samples_come_one_by_one_and_by_name():
    model = models.named()
    data = models.data_for(model, 5)
    fed = feeds(model, finite_samples(model, data, 3))
    assert len(fed) == 3
    assert {name: one.shape for name, one in fed[0].items()} == {
        "image": (1, 6, 6, 1),
        "size": (1, 2),
    }


def test_batches_have_the_structure_of_the_model():
    model = models.named()
    samples = finite_samples(model, models.data_for(model, 5), 5)
    sizes = [len(batch["size"]) for batch in batches(model, samples, 2)]
    assert sizes == [2, 2, 1]
    for batch in batches(model, samples, 5):
        assert set(model(batch)) == {"kind", "age"}


def test_a_sample_that_is_not_finite_is_counted():
    model = models.named()
    data = models.data_for(model, 5)
    data["size"][1] = np.inf
    with pytest.raises(UsageError, match=r"1 of 5 samples .*\(input 'size'\)"):
        finite_samples(model, data, 5)
