"""What halves see of the calibration data, and should make."""

import numpy as np
import pytest

from compression.separable import convnets
from quickfit.compression.separable import sights as module
from quickfit.compression.separable.sights import Sights

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def sights_of(layer, ours, theirs, seed=0):
    sights = Sights(layer, np.random.default_rng(seed))
    sights.add(np.split(ours, [2, 3]), np.split(theirs, [2, 3]))
    return sights


def collected(sights):
    seen, targets = zip(*sights.chunks(), strict=True)
    return np.concatenate(seen), np.concatenate(targets)


def test_targets_are_what_the_convolution_makes_without_bias_and_activation():
    model = convnets.one(activation="relu", padding="same")
    theirs, ours = convnets.images(model, 5), convnets.images(model, 5, seed=1)
    layer = model.get_layer("conv")
    seen, targets = collected(sights_of(layer, ours, theirs))
    made = np.asarray(model(theirs)).reshape(-1, 16)
    np.testing.assert_allclose(
        np.maximum(targets + np.asarray(layer.bias), 0), made, rtol=1e-4, atol=1e-4
    )
    np.testing.assert_array_equal(seen[:, 4], ours.reshape(-1, 8))  # the middle of the kernel


def test_places_are_drawn_where_there_are_too_many(monkeypatch):
    monkeypatch.setattr(module, "PLACES", 50)
    model = convnets.one(padding="same")
    data, layer = convnets.images(model, 5), model.get_layer("conv")
    seen, targets = collected(sights_of(layer, data, data))
    again, _ = collected(sights_of(layer, data, data))
    others, _ = collected(sights_of(layer, data, data, seed=1))
    kernel = np.asarray(layer.kernel).reshape(-1, 16)
    assert len(seen) == 50
    np.testing.assert_allclose(seen.reshape(50, -1) @ kernel, targets, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(seen, again)
    assert (seen != others).any()


def test_small_chunks_hold_the_same(monkeypatch):
    model = convnets.one()
    data, layer = convnets.images(model, 5), model.get_layer("conv")
    whole = collected(sights_of(layer, data, data))
    monkeypatch.setattr(module, "CHUNK_BYTES", 1)
    sights = sights_of(layer, data, data)
    assert max(len(seen) for seen, _ in sights.chunks()) == 64
    for one, other in zip(collected(sights), whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
