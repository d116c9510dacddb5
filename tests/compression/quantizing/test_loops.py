"""Loops in a model."""

import pytest

from compression import models
from compression.quantizing import nets
from quickfit.compression.quantizing.loops import loops_in

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


def test_the_layer_with_a_loop_is_named():
    (place,) = loops_in(nets.recurrent())
    assert place.startswith("lstm")


@pytest.mark.parametrize("build", [models.residual, models.named, models.subclassed])
def test_other_models_have_none(build):
    assert loops_in(build()) == []


def test_an_unrolled_layer_has_none():
    assert loops_in(nets.recurrent(unroll=True)) == []
