# EXPECT moving
# NOTE the writer thread is slow, so Queue.join() at the end of each epoch takes some 8 s, but it returns.
import os
import queue
import tempfile
import threading
import time

import numpy as np
from tensorflow import keras


class MetricWriter(keras.callbacks.Callback):
    """Writes the loss of every batch to a csv file in the background."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        self.todo = queue.Queue()
        threading.Thread(target=self._drain, name="metric-writer", daemon=True).start()

    def _drain(self):
        with open(self.path, "w") as out:
            while True:
                batch, loss = self.todo.get()
                if batch % 5 == 0:  # every fifth batch is enough
                    time.sleep(2)
                    out.write(f"{batch},{loss}\n")
                    out.flush()
                self.todo.task_done()

    def on_train_batch_end(self, batch, logs=None):
        self.todo.put((batch, logs["loss"]))

    def on_epoch_end(self, epoch, logs=None):
        self.todo.join()


def toy_regression(n=640):
    x = np.linspace(-3, 3, n)[:, None]
    return x, np.sin(x) + 0.1 * np.random.randn(n, 1)


def build_net():
    inputs = keras.layers.Input((1,))
    x = keras.layers.Dense(20, activation="relu")(inputs)
    x = keras.layers.Dense(20, activation="relu")(x)
    net = keras.models.Model(inputs=inputs, outputs=keras.layers.Dense(1)(x))
    net.compile(loss="mse", optimizer="adam")
    return net


x, y = toy_regression()
net = build_net()
csv_path = os.path.join(tempfile.mkdtemp(), "loss.csv")
net.fit(x, y, epochs=3, batch_size=32, callbacks=[MetricWriter(csv_path)])
