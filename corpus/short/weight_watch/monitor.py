import csv

import keras
import numpy as np


class WeightMonitor(keras.callbacks.Callback):
    """Logs the spread of the dense kernels while they train."""

    def __init__(self, path, points=101):
        super().__init__()
        self.path = path
        self.points = np.linspace(0, 1, points)
        self.rows = []

    def on_train_batch_end(self, batch, logs=None):
        for layer in self.model.layers:
            if not isinstance(layer, keras.layers.Dense):
                continue
            kernel = layer.kernel.numpy()
            q = np.quantile(kernel, self.points)
            self.rows.append([batch, layer.name, *np.round(q, 5).tolist()])

    def on_train_end(self, logs=None):
        with open(self.path, "w", newline="") as fh:
            csv.writer(fh).writerows(self.rows)
        print("weight log:", self.path, len(self.rows), "rows")
