import keras
import numpy as np


class ActivationRecorder(keras.callbacks.Callback):
    """Records how the features of a probe batch evolve during training."""

    def __init__(self, layer_name, probe):
        super().__init__()
        self.layer_name = layer_name
        self.probe = probe
        self.trace = {}

    def on_train_begin(self, logs=None):
        out = self.model.get_layer(self.layer_name).output
        self.extractor = keras.Model(self.model.inputs, out)
        self.step = 0

    def on_train_batch_end(self, batch, logs=None):
        acts = self.extractor(self.probe, training=False)
        self.trace[self.step] = np.asarray(acts)
        self.step += 1

    def drift(self):
        steps = sorted(self.trace)
        return [float(np.abs(self.trace[b] - self.trace[a]).mean()) for a, b in zip(steps, steps[1:])]
