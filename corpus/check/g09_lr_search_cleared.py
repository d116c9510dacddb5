# EXPECT none
# NOTE hyper-parameter search: own model per trial, keras.backend.clear_session() in the `finally` of each trial; compile inside the loop is of a new model each time
# SEEN ran to the end (rc 0), no complaint of its own
"""Random search for the learning rate and width."""
import numpy as np
import tensorflow as tf
from tensorflow.keras import backend as K
from tensorflow.keras import layers, models, optimizers

RNG = np.random.default_rng(9)


def data(n=1200):
    x = RNG.uniform(-1, 1, (n, 4)).astype("float32")
    y = np.sin(3 * x[:, 0]) * x[:, 1] + x[:, 2] ** 2
    return x, y.astype("float32")


def sample_space():
    return {
        "lr": float(10 ** RNG.uniform(-4, -2)),
        "width": int(RNG.choice([8, 16, 32, 64])),
        "activation": str(RNG.choice(["relu", "tanh", "gelu"])),
    }


def trial(params, train, valid):
    try:
        model = models.Sequential()
        model.add(layers.Input((4,)))
        for _ in range(2):
            model.add(layers.Dense(params["width"], activation=params["activation"]))
        model.add(layers.Dense(1))
        model.compile(optimizer=optimizers.Adam(params["lr"]), loss="mse")
        hist = model.fit(*train, validation_data=valid, epochs=3, batch_size=64, verbose=0)
        return hist.history["val_loss"][-1]
    finally:
        K.clear_session()


def main(trials=5):
    tf.random.set_seed(9)
    x, y = data()
    train, valid = (x[:1000], y[:1000]), (x[1000:], y[1000:])
    table = []
    for _ in range(trials):
        params = sample_space()
        score = trial(params, train, valid)
        table.append((score, params))
        print(f"{score:.4f}", params)
    best = min(table, key=lambda row: row[0])
    print("best:", best)


if __name__ == "__main__":
    main()
