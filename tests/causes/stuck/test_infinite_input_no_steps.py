"""`infinite-input-no-steps`: what was said while the run was quiet is what the report says."""

import dataclasses

import pytest

from quickfit.causes import catalogue
from quickfit.causes.stuck.infinite_input_no_steps import CAUSE, detect, show_endless_epoch
from quickfit.findings import Effect, FixClass, Symptom
from scenes import (
    MOVING,
    SCRIPT,
    SOURCE,
    STUCK,
    at,
    fit,
    generator,
)
from silences import noted, quiet_run

from builders import run
from programs import fixed, lines, spots

fix = catalogue()["infinite-input-no-steps"].fix


def test_fires_with_what_was_seen_and_where():
    found = detect(quiet_run(noted("infinite-input-no-steps")))
    assert found is not None
    assert (found.summary, found.where.line) == ("infinite-input-no-steps was seen", 6)
    assert [one.value for one in found.evidence] == [1.0, 31.0, 31.0]
    assert not found.is_past
    assert CAUSE.symptom == Symptom.STUCK


def test_a_run_that_went_on_is_told_of_in_the_past():
    found = detect(quiet_run(noted("infinite-input-no-steps", moved_again_s=1050.0)))
    assert found.is_past
    assert found.evidence[-1].detail == "a step came later"


@pytest.mark.parametrize(
    "signals",
    [
        pytest.param(run(), id="a healthy run"),
        pytest.param(quiet_run(), id="a run that was looked at and moved"),
        pytest.param(quiet_run(noted("slow-step")), id="slow-step"),
    ],
)
def test_stays_silent_on(signals):
    assert detect(signals) is None


def test_the_fix_shows_code_that_lets_an_epoch_end():
    signals = quiet_run(noted("infinite-input-no-steps"))
    shown = fix(detect(signals), signals)
    assert shown.kind == FixClass.SHOW_ONLY
    assert "fit starts it anew" in shown.example


HEAD = """
import numpy as np
import tensorflow as tf
from tensorflow import keras

def stream(x, size=8):
    while True:
        for at in range(0, len(x), size):
            yield x[at:at + size], x[at:at + size]

def once(x):
    for row in x:
        yield row, row

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
x = np.zeros((64, 4))
ds = tf.data.Dataset.from_tensor_slices((x, x))
"""
AT = len(HEAD.strip("\n").splitlines()) + 1


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("model.fit(stream(x), epochs=2)", id="a generator"),
        pytest.param("model.fit(x=stream(x), epochs=2, steps_per_epoch=None)", id="None steps"),
        pytest.param("model.fit(ds.repeat().batch(8))", id="a dataset"),
        pytest.param("model.fit(x, x, validation_data=ds.batch(8).repeat())", id="validation"),
        pytest.param("model.evaluate(stream(x))", id="evaluate"),
        pytest.param("model.fit((row for row in stream(x)))", id="an expression"),
        pytest.param(
            "model.fit(x, x, validation_data=stream(x), validation_steps=0)", id="0 steps"
        ),
        pytest.param(
            "model.fit(stream(x), **{'epochs': 2, 'verbose': 0})", id="options that do not say it"
        ),
        pytest.param(
            "model.fit(stream(x), **dict(epochs=2, steps_per_epoch=None))", id="options with None"
        ),
        pytest.param(
            "import functools; model.fit(tf.data.Dataset.from_generator("
            "functools.partial(stream, x, size=4), output_types=tf.float32))",
            id="a generator with its arguments",
        ),
    ],
)
def test_reports_from_text(code):
    (spot,) = spots(CAUSE, HEAD + code)
    assert spot.where.line == AT
    assert spot.effect is Effect.HANGS
    assert spot.related


def test_names_the_data_the_argument_and_what_never_ends():
    (spot,) = spots(CAUSE, HEAD + "data = stream(x)\nmodel.fit(data, epochs=2)")
    assert spot.summary == (
        "`data` never runs out (a loop that nothing leaves) and `fit` is given no "
        "`steps_per_epoch`: the first epoch never ends"
    )
    assert [span.line for span, _ in spot.related] == [AT + 1, 6]


def test_the_call_that_lacks_the_number_is_the_place():
    call = "model.fit(\n    ds.batch(8),\n    validation_data=ds.repeat().batch(8),\n)"
    (spot,) = spots(CAUSE, HEAD + call)
    assert spot.where.line == AT
    assert spot.related[0][0].line == AT + 2


def test_follows_data_through_files_and_classes():
    source = {
        "train.py": "import keras\nfrom data import Data\nmodel = keras.Sequential([])\n"
        "data = Data([1])\nmodel.fit(data.train(), validation_data=data.test())\n",
        "data.py": "import tensorflow as tf\nclass Data:\n    def __init__(self, x): self.x = x\n"
        "    def train(self):\n        ds = tf.data.Dataset.from_tensor_slices(self.x)\n"
        "        return ds.repeat().batch(2)\n"
        "    def test(self):\n        return tf.data.Dataset.from_tensor_slices(self.x).batch(2)\n",
    }
    assert lines(CAUSE, source) == [5]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("model.fit(stream(x), steps_per_epoch=8)", id="steps are given"),
        pytest.param("model.fit(stream(x), steps_per_epoch=len(x) // 8)", id="steps are computed"),
        pytest.param("model.fit(once(x))", id="a generator that ends"),
        pytest.param("model.fit(ds.repeat(3).batch(8))", id="repeated three times"),
        pytest.param("model.fit(ds.repeat().batch(8).take(9))", id="cut off"),
        pytest.param("model.fit(ds.batch(8))", id="a dataset that ends"),
        pytest.param(
            "options = json.load(file)\nmodel.fit(stream(x), **options)",
            id="options that may say it",
        ),
        pytest.param(
            "options = {'epochs': 2}\noptions['steps_per_epoch'] = 8\n"
            "model.fit(stream(x), **options)",
            id="options that say it later",
        ),
        pytest.param(
            "options = dict(epochs=2, steps_per_epoch=8)\nmodel.fit(stream(x), **options)",
            id="options that say it",
        ),
        pytest.param(
            "import functools\nmaker = functools.partial(once, x)\n"
            "model.fit(tf.data.Dataset.from_generator(maker, output_types=tf.float32))",
            id="a generator that ends, with its arguments",
        ),
        pytest.param("model.fit(stream(x) if x.any() else once(x))", id="it depends"),
        pytest.param(
            "flow = keras.preprocessing.image.ImageDataGenerator().flow(x)\nmodel.fit(flow)",
            id="images that know their number",
        ),
        pytest.param("other.fit(stream(x))", id="no model"),
        pytest.param("for a, b in stream(x):\n    model.train_on_batch(a, b)", id="an own loop"),
        pytest.param(
            "class Stop(keras.callbacks.Callback):\n"
            "    def on_train_batch_end(self, batch, logs=None):\n"
            "        self.model.stop_training = batch > 9\n"
            "model.fit(stream(x), callbacks=[Stop()])",
            id="a callback that ends it",
        ),
    ],
)
def test_stays_silent_on_text(code):
    assert lines(CAUSE, HEAD + code) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model.fit(ds.shuffle(9).repeat().batch(8))", "model.fit(ds.shuffle(9).batch(8))"),
        (
            "train = ds.repeat()\ntrain = train.batch(8)\nmodel.fit(train, epochs=2)\n",
            "train = ds\ntrain = train.batch(8)\nmodel.fit(train, epochs=2)\n",
        ),
        (
            "train = (\n    ds.shuffle(9)  # a\n    .repeat()\n    .batch(8)\n)\nmodel.fit(train)",
            "train = (\n    ds.shuffle(9)  # a\n    .batch(8)\n)\nmodel.fit(train)",
        ),
    ],
)
def test_takes_a_repeat_away_that_is_for_this_call_alone(before, after):
    head = HEAD.lstrip("\n")
    assert fixed(CAUSE, HEAD + before) == head + after
    assert spots(CAUSE, HEAD + before)[0].change.kind is FixClass.REPAIRS


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("model.fit(stream(x))", id="a generator"),
        pytest.param(
            "train = ds.repeat()\nmodel.fit(train)\nmodel.fit(train, steps_per_epoch=3)",
            id="used with steps as well",
        ),
        pytest.param(
            "train = ds.repeat()\nmodel.fit(train)\nit = iter(train)", id="used elsewhere"
        ),
        pytest.param("def make():\n    return ds.repeat()\nmodel.fit(make())", id="made elsewhere"),
    ],
)
def test_offers_no_change_where_others_may_need_it(code):
    assert [s.change for s in spots(CAUSE, HEAD + code)] == [None]


def test_endless_training_data_without_steps_is_told_at_the_fit_with_the_repeat():
    found = show_endless_epoch(STUCK["infinite-input-no-steps"])
    assert (found.where, found.also) == (at("model.fit("), at(".repeat()"))
    assert "the epoch never ends" in found.summary
    assert "`steps_per_epoch` is not given" in found.summary
    assert found.is_certain


def changed(name, **given):
    return dataclasses.replace(SCENES[name], **given)


SCENES = {**STUCK, **MOVING}


def test_endless_validation_data_is_told_with_the_batches_so_far():
    loop = fit(phase="validation", facts={"steps": 100, "steps_per_epoch": 100})
    found = show_endless_epoch(changed("infinite-input-no-steps", loop=loop))
    assert "the validation never ends" in found.summary
    assert found.evidence[0].value == 900


def test_an_endless_generator_is_told_beside_the_fit():
    given = {"stages": (), "inputs": (generator(batches=900),)}
    found = show_endless_epoch(changed("infinite-input-no-steps", **given))
    assert found.also == at("def batches")


@pytest.mark.parametrize(
    "facts",
    [{"steps_per_epoch": 100}, {"steps": 100}],
    ids=["steps_per_epoch", "steps, known before the first one"],
)
def test_an_epoch_with_a_number_of_steps_ends(facts):
    loop = fit(steps=900, lasted_s=600.0, facts=facts)
    assert show_endless_epoch(changed("infinite-input-no-steps", loop=loop)) is None


def test_a_validation_with_a_number_of_steps_ends():
    loop = fit(phase="validation", facts={"validation_steps": 10})
    assert show_endless_epoch(changed("infinite-input-no-steps", loop=loop)) is None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"loop": None}, id="no loop"),
        pytest.param({"loop": dataclasses.replace(fit(), kind="custom")}, id="the script's own"),
        pytest.param({"stages": ()}, id="nothing is known of the data"),
        pytest.param({"still_s": 9.0}, id="the data no longer comes"),
        pytest.param(
            {"sources": {SCRIPT: SOURCE + "self.model.stop_training = True\n"}},
            id="a callback may end it",
        ),
    ],
)
def test_an_epoch_is_not_called_endless_with(given):
    assert show_endless_epoch(changed("infinite-input-no-steps", **given)) is None


def restaged(name, place, **given):
    stages = list(SCENES[name].stages)
    stages[place] = dataclasses.replace(stages[place], **given)
    return changed(name, stages=tuple(stages))


@pytest.mark.parametrize("cardinality", [-2, 500])
def test_data_that_ends_or_may_end_is_not_called_endless(cardinality):
    assert (
        show_endless_epoch(restaged("infinite-input-no-steps", 0, cardinality=cardinality)) is None
    )


def test_slow_steps_over_endless_data_still_come():
    given = changed("infinite-input-no-steps", still_s=9.0, longest_s=8.0)
    assert show_endless_epoch(given) is not None


def test_an_endless_epoch_is_certain_only_after_a_while():
    given = changed("infinite-input-no-steps", loop=fit(lasted_s=3.0))
    assert show_endless_epoch(given).is_certain is False
