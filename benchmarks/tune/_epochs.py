"""Trains as the script says, and prints a line for every epoch: how long it took, and the loss."""

import sys
import time

import keras


class Epochs(keras.callbacks.Callback):
    """Prints how long every epoch took."""

    def on_epoch_begin(self, epoch, logs=None):
        self.begun_s = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        took_s = time.perf_counter() - self.begun_s
        print(f"epoch_s {took_s:.4f} loss {logs['loss']:.5f}", flush=True)


def train(model, data, epochs):
    """Fit, for as many epochs as the first argument of the script says, if there is one."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else epochs
    model.fit(data, epochs=count, verbose=0, shuffle=False, callbacks=[Epochs()])
