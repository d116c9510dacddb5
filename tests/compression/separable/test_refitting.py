"""Halves fitted to do what the convolutions did."""

import numpy as np
import pytest

from compression import models
from compression.separable import convnets
from quickfit.compression.calibration import samples_of
from quickfit.compression.graph import graph_of
from quickfit.compression.separable import refitting
from quickfit.compression.separable.halves import halved
from quickfit.compression.separable.refitting import refit
from quickfit.errors import ModelError

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def refitted(model, ranks, data, ridge=1e-3):
    """Return a model in halves before and after they are fitted, and what is missed."""
    old = graph_of(model)
    split, _ = halved(old, ranks)
    new, halves = halved(old, ranks)
    missed = refit(old, graph_of(new), halves, samples_of(old, data), ridge=ridge, seed=0)
    return split, new, missed


def distance(model, other, data):
    pairs = zip(models.results(model, data), models.results(other, data), strict=True)
    return max(float(np.linalg.norm(a - b) / np.linalg.norm(a - a.mean(0))) for a, b in pairs)


@pytest.mark.parametrize(
    "settings",
    [
        {"activation": "relu"},
        {"use_bias": False},
        {"strides": 2, "padding": "same"},
        {"dilation_rate": 2, "padding": "same", "bias_constraint": "non_neg"},
    ],
    ids=str,
)
def test_a_fitted_convolution_comes_closer_on_other_images(settings):
    model = convnets.one(**settings)
    split, new, _ = refitted(model, {"conv": 1}, convnets.images(model))
    others = convnets.images(model, seed=9)
    assert distance(model, new, others) < 0.95 * distance(model, split, others)


def test_the_share_that_is_missed_is_that_of_the_variance():
    model = convnets.one(use_bias=False)
    data = convnets.images(model)
    _, new, missed = refitted(model, {"conv": 2}, data)
    pairs = models.results(model, data) + models.results(new, data)
    expected = np.linalg.norm(pairs[0] - pairs[1]) / np.linalg.norm(pairs[0])
    assert missed["conv"] == pytest.approx(expected**2, rel=1e-2)


def test_later_convolutions_make_good_what_earlier_ones_cannot():
    model = convnets.chain()
    data = convnets.images(model)
    split, new, missed = refitted(model, {"first": 1, "second": 1}, data)
    others = convnets.images(model, seed=9)
    assert distance(model, new, others) < 0.8 * distance(model, split, others)
    assert list(missed) == ["first", "second"]


def test_a_missing_bias_is_taken_over_by_the_normalization():
    model = convnets.chain()
    _, new, _ = refitted(model, {"first": 1}, convnets.images(model))
    old_mean, new_mean = (np.asarray(m.get_layer("norm").moving_mean) for m in (model, new))
    assert np.abs(old_mean - new_mean).max() > 0.01
    assert not new.get_layer("first_pointwise").use_bias


def test_a_constrained_bias_is_kept():
    model = convnets.one(bias_constraint="non_neg")
    _, new, _ = refitted(model, {"conv": 1}, convnets.images(model))
    np.testing.assert_array_equal(new.get_layer("conv").bias, model.get_layer("conv").bias)


def test_shared_convolutions_are_fitted_on_all_they_read():
    model = convnets.siamese()
    split, new, _ = refitted(model, {"first": 2, "second": 2}, convnets.images(model))
    others = convnets.images(model, seed=9)
    assert distance(model, new, others) < 0.8 * distance(model, split, others)


def test_large_convolutions_keep_their_filters(monkeypatch):
    monkeypatch.setattr(refitting, "LARGEST", 10)
    model = convnets.one()
    split, new, _ = refitted(model, {"conv": 1}, convnets.images(model))
    others = convnets.images(model, seed=9)
    np.testing.assert_array_equal(
        new.get_layer("conv_depthwise").kernel, split.get_layer("conv_depthwise").kernel
    )
    assert distance(model, new, others) < 0.95 * distance(model, split, others)


def test_one_sample_is_enough_to_stay_finite():
    model = convnets.one(padding="same", strides=9)
    _, new, _ = refitted(model, {"conv": 1}, convnets.images(model, 1))
    assert np.isfinite(models.results(new, convnets.images(model, 4))[0]).all()


def test_images_with_nan_are_told_with_the_convolution():
    model = convnets.one()
    data = convnets.images(model)
    data[3, 2, 2, 1] = np.nan
    with pytest.raises(ModelError, match=r"'conv' cannot be rewritten\. Weights cannot be fitted"):
        refitted(model, {"conv": 1}, data)
