"""The loss before and after a training from the first weights."""

import math
import os

import pytest

from quickfit.tuning.trials.assembling import Assembled
from quickfit.tuning.trials.feeds import feed_of
from quickfit.tuning.trials.learning import learn, loss_of, own_loss, take_state
from quickfit.tuning.trials.link import Link
from quickfit.tuning.trials.seeds import begin_anew

from tuning.trials import small_models

pytestmark = pytest.mark.loads_tf


@pytest.fixture
def link():
    commands, answers = os.pipe(), os.pipe()
    yield Link(commands[0], answers[1])
    for descriptor in (*commands, *answers):
        os.close(descriptor)


def fresh(batch=None):
    begin_anew()
    return Assembled(small_models.model(), feed_of(small_models.dataset(), batch, 32))


def test_a_trained_model_begins_again_and_comes_as_far(tf, link):
    trained = fresh().model
    trained.fit(small_models.dataset(), epochs=2, verbose=0, shuffle=False)
    again = learn(80, fresh(), trained, link)
    anew = learn(80, fresh(), fresh().model, link)
    assert again == anew
    assert again.samples == 80
    assert again.after < again.before


def test_the_loss_is_judged_on_the_same_samples_for_every_batch(tf, link):
    one = learn(64, fresh(), fresh().model, link)
    other = learn(64, fresh(batch=16), fresh().model, link)
    assert one.before == pytest.approx(other.before)


def test_samples_are_whole_steps(tf, link):
    assert learn(65, fresh(batch=16), fresh().model, link).samples == 80


def test_a_model_of_another_form_is_not_taken_over(tf):
    import keras

    other = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])
    other.compile("adam", "mse")
    assert not take_state(small_models.model(), other)
    assert not take_state(keras.Sequential([keras.layers.Dense(2)]), other)


@pytest.fixture
def own_step(tf):
    import keras

    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2)
            self.steps = keras.optimizers.SGD(0.1)

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                each = keras.losses.sparse_categorical_crossentropy(y, self(x), from_logits=True)
                loss = tf.reduce_mean(each)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.steps.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
            return {"mine": loss}

    def made(batch=None, **options):
        begin_anew()
        model = Own()
        model.compile(**options)
        return Assembled(model, feed_of(small_models.dataset(), batch, 32))

    return made


def test_without_a_loss_to_evaluate_that_of_the_training_is_taken(tf, link, own_step):
    found = learn(160, own_step(), own_step().model, link)
    assert math.isfinite(found.before)
    assert found.after < found.before


def test_a_step_of_its_own_is_asked_on_the_same_samples_whatever_one_call_takes(tf, link, own_step):
    one = learn(64, own_step(), own_step().model, link)
    several = own_step(steps_per_execution=2)
    assert learn(64, several, several.model, link) == one
    assert learn(64, own_step(batch=32), own_step().model, link).before == pytest.approx(one.before)


def test_asking_a_step_of_its_own_changes_nothing(tf, own_step):
    made = own_step().model
    made(next(iter(small_models.dataset()))[0])
    before = [one.numpy() for one in made.variables]
    assert math.isfinite(own_loss(made, small_models.dataset()))
    assert all((old == now.numpy()).all() for old, now in zip(before, made.variables, strict=True))
    assert not made.steps.built


def test_a_model_that_is_trained_by_keras_has_no_step_to_ask(tf):
    assert math.isnan(own_loss(small_models.model(), small_models.dataset()))


def test_a_model_that_cannot_be_evaluated_has_no_loss(tf, own_step):
    assert math.isnan(loss_of(own_step().model, small_models.dataset()))
