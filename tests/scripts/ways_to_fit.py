"""All ways to call `fit`: in turn, in a thread, through super(), inside a callback, interrupted."""

import threading

import keras
import numpy as np

x = np.ones((40, 4), "float32")
y = np.ones((40, 1), "float32")


class Own(keras.Model):
    """A model with a `fit` of its own."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, inputs):
        return self.dense(inputs)

    def fit(self, *args, callbacks=None, **kwargs):
        return super().fit(*args, callbacks=callbacks, **kwargs)  # line: super


class InsideEpoch(keras.callbacks.Callback):
    """Fits another model at the end of each epoch."""

    def on_epoch_end(self, epoch, logs=None):
        small().fit(x, y, batch_size=20, verbose=0)  # line: nested


class Interrupts(keras.callbacks.Callback):
    """Presses Ctrl-C in the fourth step."""

    def on_train_batch_end(self, batch, logs=None):
        if batch == 3:
            raise KeyboardInterrupt


def small(**how):
    """Return a compiled model of one layer."""
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse", **how)
    return model


model = small()
model.fit(x, y, batch_size=8, verbose=0)  # line: first
model.fit(x, y, batch_size=4, epochs=2, verbose=0)  # line: second
thread = threading.Thread(target=lambda: small().fit(x, y, batch_size=8, verbose=0))  # line: thread
thread.start()
thread.join()
small(steps_per_execution=4).fit(x, y, batch_size=4, epochs=2, verbose=0)  # line: four at once
small().fit(  # line: validation
    x,
    y,
    batch_size=8,
    epochs=9,
    validation_data=(x, y),
    verbose=0,
    callbacks=[keras.callbacks.EarlyStopping("loss", min_delta=9, patience=1)],
)
own = Own()
own.compile("sgd", "mse")
own.fit(x, y, batch_size=8, verbose=0)
small().fit(  # line: outer
    x, y, batch_size=8, epochs=2, validation_data=(x, y), verbose=0, callbacks=[InsideEpoch()]
)
try:
    small().fit(x, y, batch_size=8, verbose=0, callbacks=[Interrupts()])  # line: interrupted
except KeyboardInterrupt:
    print("interrupted")
print(len(small().predict(x, verbose=0)))
