"""Trains in several styles of loop, one after the other; the last loop ends as it is told to.

`python train.py fit,eager raise`: the styles, and what happens in the last one's loop:
`normal` (nothing), `raise`, `exit`, or `forever` (it goes on until a signal, a limit or a kill).
`--watch FOLDER` watches it from inside. `--watch-each FOLDER` gives every style a watch of its own,
ends all of them so, and goes on; `interrupt` stands for Ctrl-C there.
"""

import contextlib
import os
import signal
import sys

import keras
import numpy as np
import tensorflow as tf
from loops_elsewhere import train_elsewhere

# A call of `evaluate` is a loop from 20 batches on.
BATCH, STEPS, ENDS_AT = 8, 40, 25
# No loop is endless: a test that failed must not leave one behind.
FOREVER = 300_000


class Ending:
    """Counts the steps of the last loop, and ends it."""

    def __init__(self, kind):
        self.kind = kind
        self.steps = FOREVER if kind == "forever" else STEPS
        self.seen = 0

    def tick(self, *_, **__):
        """Take one step of a loop; called at its end."""
        self.seen += 1
        if self.seen != ENDS_AT:
            return
        print(f"under way, pid {os.getpid()}", flush=True)
        if self.kind == "exit":
            sys.exit(3)
        if self.kind == "interrupt":
            signal.raise_signal(signal.SIGINT)
        if self.kind == "raise":
            raise RuntimeError("the loop ends here")


def new_model():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    return model


def batches(ending):
    x = np.ones((BATCH, 4), "float32")
    return tf.data.Dataset.from_tensors((x, x[:, :2])).repeat(ending.steps)


def fit(ending):
    hook = keras.callbacks.LambdaCallback(on_train_batch_end=ending.tick)
    new_model().fit(batches(ending), verbose=0, callbacks=[hook])


def eager(ending):
    model = new_model()
    for x, y in batches(ending):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        model.optimizer.apply(
            tape.gradient(loss, model.trainable_variables), model.trainable_variables
        )
        ending.tick()


def function(ending):
    model = new_model()
    model.optimizer.build(model.trainable_variables)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        model.optimizer.apply(
            tape.gradient(loss, model.trainable_variables), model.trainable_variables
        )

    for x, y in batches(ending):
        step(x, y)
        ending.tick()


def train_on_batch(ending):
    model = new_model()
    x = np.ones((BATCH, 4), "float32")
    for _ in range(ending.steps):
        model.train_on_batch(x, x[:, :2])
        ending.tick()


def predict(ending):
    model = new_model()
    x = np.ones((BATCH, 4), "float32")
    for _ in range(ending.steps):
        model.predict(x, verbose=0)
        ending.tick()


def evaluate(ending):
    hook = keras.callbacks.LambdaCallback()
    hook.on_test_batch_end = ending.tick
    new_model().evaluate(batches(ending), verbose=0, callbacks=[hook])


def elsewhere(ending):
    train_elsewhere(new_model(), batches(ending), ending.tick)


STYLES = {
    style.__name__: style
    for style in (fit, eager, function, train_on_batch, predict, evaluate, elsewhere)
}


def main(names, kind):
    *before, last = names.split(",")
    for name in before:
        STYLES[name](Ending("normal"))
    STYLES[last](Ending(kind))


def watch_each(names, kind, folder):
    import quickfit

    for name in names.split(","):
        caught = contextlib.suppress(RuntimeError, SystemExit, KeyboardInterrupt)
        with caught, quickfit.Watch(f"{folder}/{name}-{kind}.qfrun"):
            STYLES[name](Ending(kind))


if __name__ == "__main__":
    names, kinds, *options = sys.argv[1:]
    if options and options[0] == "--watch-each":
        for kind in kinds.split(","):
            watch_each(names, kind, options[1])
    else:
        with contextlib.ExitStack() as stack:
            if options:
                import quickfit

                stack.enter_context(quickfit.Watch(options[1]))
            main(names, kinds)
