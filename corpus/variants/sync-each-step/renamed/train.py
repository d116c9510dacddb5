# EXPECT cause=sync-each-step file=train.py line=71
# WHY Keras metrics are updated with update_state and read back as Python floats, outside the compiled step, after every single step.
"""Next-day load curve of a substation (24 hourly values) from the past week."""
import sys
import time

import numpy as np
import tensorflow as flow
from keras import Input, Model, layers as bricks, metrics as gauges, optimizers

WEEK = 168
DAY = 24
HOUSEHOLDS = 8192
LOT = 256
MARCHES = 680
seeded = np.random.default_rng(11)


def invent_substation():
    hours = np.arange(WEEK + DAY, dtype=np.float32)
    phase = seeded.uniform(0.0, 24.0, size=(HOUSEHOLDS, 1)).astype(np.float32)
    level = seeded.uniform(0.5, 2.0, size=(HOUSEHOLDS, 1)).astype(np.float32)
    curve = level * (1.5 + np.sin((hours[None, :] + phase) * 2 * np.pi / 24.0))
    curve += 0.1 * seeded.standard_normal(curve.shape).astype(np.float32)
    return curve[:, :WEEK].astype(np.float32), curve[:, WEEK:].astype(np.float32)


def feed(past, tomorrow):
    lots = flow.data.Dataset.from_tensor_slices((past, tomorrow))
    lots = lots.batch(LOT, drop_remainder=True).cache()
    return lots.shuffle(HOUSEHOLDS // LOT).repeat().take(MARCHES).prefetch(2)


def build_forecaster():
    knob = Input((WEEK,))
    h = bricks.Dense(256, activation="relu")(knob)
    h = bricks.Dense(256, activation="relu")(h)
    h = bricks.Dense(128, activation="relu")(h)
    return Model(knob, bricks.Dense(DAY)(h))


forecaster = build_forecaster()
tuner = optimizers.Adam(1e-3)
tuner.build(forecaster.trainable_variables)


@flow.function
def advance(past, tomorrow):
    with flow.GradientTape() as ribbon:
        guess = forecaster(past, training=True)
        pain = flow.reduce_mean(flow.square(guess - tomorrow))
    slopes = ribbon.gradient(pain, forecaster.trainable_variables)
    tuner.apply_gradients(zip(slopes, forecaster.trainable_variables))
    return pain, guess


dials = [
    gauges.MeanAbsoluteError(name="mae"),
    gauges.RootMeanSquaredError(name="rmse"),
    gauges.MeanAbsolutePercentageError(name="mape"),
    gauges.CosineSimilarity(name="shape"),
    gauges.LogCoshError(name="logcosh"),
    gauges.MeanSquaredLogarithmicError(name="msle"),
    gauges.R2Score(name="r2"),
]
readout = {}


def glance(tomorrow, guess):
    for dial in dials:
        dial.update_state(tomorrow, guess)
        readout[dial.name] = float(dial.result())


def campaign():
    past, tomorrow = invent_substation()
    lots = feed(past, tomorrow)
    began = time.perf_counter()
    for march, (x, y) in enumerate(lots, 1):
        pain, guess = advance(x, y)
        glance(y, guess)
        if march % 100 == 0:
            print(march, float(pain), readout)
            for dial in dials:
                dial.reset_state()
    print(f"training seconds {time.perf_counter() - began:.2f}", file=sys.stderr)


if __name__ == "__main__":
    campaign()
