"""The best moment of a training, the first one included."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from quickfit.compression.distilling.epochs import Training
from quickfit.compression.distilling.labelled import Labelled
from quickfit.compression.distilling.scoring import Score

pytestmark = [pytest.mark.loads_tf, pytest.mark.usefixtures("tf")]


class Number:
    """A model that is one number; training makes it the next of a list."""

    def __init__(self, *values, loss=1.0):
        self.value, self._values, self._loss = 0.0, list(values), loss
        self.variables = [self]

    def __array__(self, dtype=None, copy=None):
        return np.array(self.value)

    def assign(self, value):
        self.value = float(value)

    def fit(self, feed, **_):
        self.value = self._values.pop(0)
        return SimpleNamespace(history={"loss": [self._loss]})


def training(model, recalibrate=None):
    return Training(model, lambda: Score((model.value,), f"{model.value}"), recalibrate)


def begun():
    epochs = []
    return Labelled(None, (), epochs.append), epochs


def test_the_best_epoch_is_kept_and_each_begins_in_its_order():
    model, (data, epochs) = Number(1.0, 3.0, 2.0), begun()
    best = training(model).trained(model, data, 3, "labels")
    assert (best.what, float(best.state[0])) == ("labels, epoch 2", 3.0)
    assert epochs == [1, 2, 3]


def test_of_equals_the_first_is_kept():
    model = Number(2.0, 2.0)
    assert training(model).trained(model, begun()[0], 2, "labels").what == "labels, epoch 1"


def test_every_training_begins_at_the_start():
    model = Number(5.0, -1.0)
    whole = training(model)
    whole.trained(model, begun()[0], 1, "labels")
    seen = []
    trainer = SimpleNamespace(fit=lambda *a, **k: seen.append(model.value) or model.fit(None))
    whole.trained(trainer, begun()[0], 1, "teacher")
    assert seen == [0.0]
    assert whole.start.what == "before training"


def test_new_statistics_are_tried_after_each_epoch_and_do_not_stay_in_the_training():
    model = Number(1.0, 2.0)
    before = []

    def recalibrate():
        before.append(model.value)
        model.value += 10 if len(before) == 1 else -10

    best = training(model, recalibrate).trained(model, begun()[0], 2, "labels")
    assert best.what == "labels, epoch 1, statistics of batch normalization measured anew"
    assert before == [1.0, 2.0]
    assert model.value == 2.0


def test_a_loss_that_is_not_finite_ends_it_and_is_told():
    model = Number(math.nan, 7.0, loss=math.nan)
    whole = training(model, lambda: pytest.fail("statistics of nothing"))
    whole.trained(model, begun()[0], 2, "labels")
    assert whole.notes == [
        "Training on labels was ended: the loss was nan. Try a smaller learning_rate."
    ]
