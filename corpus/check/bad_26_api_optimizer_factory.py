# EXPECT keras2-api line=26
# NOTE the keyword reaches the optimizer through a registry and **params: {"lr": …} is refused; a report at the PRESETS entries would do too
# SEEN ValueError: Argument(s) not recognized: {'lr': 0.01}
import argparse

import keras
import numpy as np

OPTIMIZERS = {
    "sgd": keras.optimizers.SGD,
    "adam": keras.optimizers.Adam,
    "rmsprop": keras.optimizers.RMSprop,
}

PRESETS = {
    "fast": dict(optimizer="adam", params={"lr": 1e-2}),
    "careful": dict(optimizer="sgd", params={"lr": 1e-3, "momentum": 0.9}),
}


def make_optimizer(name, **params):
    try:
        cls = OPTIMIZERS[name]
    except KeyError:
        raise SystemExit(f"unknown optimizer {name}")
    return cls(**params)


def make_model(n_features, n_out):
    return keras.Sequential([
        keras.layers.Input((n_features,)),
        keras.layers.LayerNormalization(),
        keras.layers.Dense(32, activation="gelu"),
        keras.layers.Dense(n_out),
    ])


def main(argv=None):
    ap = argparse.ArgumentParser()
    ap.add_argument("--preset", choices=PRESETS, default="fast")
    ap.add_argument("--epochs", type=int, default=2)
    ns = ap.parse_args(argv)

    preset = PRESETS[ns.preset]
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 10)).astype("float32")
    y = x[:, :2] * 3

    model = make_model(10, 2)
    model.compile(make_optimizer(preset["optimizer"], **preset["params"]), loss="mae")
    model.fit(x, y, validation_split=0.25, epochs=ns.epochs, verbose=2)


if __name__ == "__main__":
    main()
