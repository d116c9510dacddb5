import keras


def score(net, inputs):
    return net.predict(inputs, verbose=0)


class Monitor(keras.callbacks.Callback):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y, self.trace = x, y, []

    def on_train_batch_end(self, batch, logs=None):
        p = score(self.model, self.x)
        self.trace.append(float(((p > 0.5) == self.y).mean()))
