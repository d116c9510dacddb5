import keras
import numpy as np


class Experiment:
    def __init__(self, model_conf, compile_conf, fit_conf):
        self.model_conf = model_conf
        self.compile_conf = compile_conf
        self.fit_conf = fit_conf
        self.model = None

    def build(self, features):
        model = keras.Sequential([keras.Input((features,))])
        for units in self.model_conf["units"]:
            model.add(keras.layers.Dense(units, activation=self.model_conf["activation"]))
        model.add(keras.layers.Dense(1))
        model.compile(**self.compile_conf)
        self.model = model
        return self

    def run(self, x, y):
        split = int(0.8 * len(x))
        return self.model.fit(
            x[:split],
            y[:split],
            validation_data=(x[split:], y[split:]),
            **self.fit_conf,
        )


def toy(n=200, features=6, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, features)).astype("float32")
    return x, (x ** 2).sum(1, keepdims=True)
