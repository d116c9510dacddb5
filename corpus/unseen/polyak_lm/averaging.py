import keras


class WeightAverager(keras.callbacks.Callback):
    """Polyak averaging; the averaged weights are swapped in for evaluation."""

    def __init__(self, decay=0.995):
        super().__init__()
        self.decay = decay
        self.shadow = None
        self.updates = 0

    def on_train_begin(self, logs=None):
        self.shadow = self.model.get_weights()

    def on_train_batch_end(self, batch, logs=None):
        self.updates += 1
        d = min(self.decay, (1 + self.updates) / (10 + self.updates))
        current = self.model.get_weights()
        self.shadow = [d * s + (1 - d) * w for s, w in zip(self.shadow, current)]

    def on_test_begin(self, logs=None):
        if self.shadow is not None:
            self._live = self.model.get_weights()
            self.model.set_weights(self.shadow)

    def on_test_end(self, logs=None):
        if self.shadow is not None:
            self.model.set_weights(self._live)
