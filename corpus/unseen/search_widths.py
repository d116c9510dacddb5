import itertools, json, sys
import numpy as np
import tensorflow as tf

SPACE = dict(units=[16, 64], depth=[2, 3], act=["relu"], lr=[1e-2, 1e-3])
rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 20)).astype("float32")
Y = (np.sin(X[:, 0]) + X[:, 1] * X[:, 2]).astype("float32")


def objective(units, depth, act, lr):
    net = tf.keras.Sequential()
    net.add(tf.keras.layers.Input((20,)))
    for _ in range(depth):
        net.add(tf.keras.layers.Dense(units, activation=act))
        net.add(tf.keras.layers.BatchNormalization())
    net.add(tf.keras.layers.Dense(1))
    net.compile(tf.keras.optimizers.Adam(lr), "mse")
    h = net.fit(X, Y, validation_split=0.2, epochs=2, batch_size=256, verbose=0)
    return h.history["val_loss"][-1]


def main():
    best = None
    for values in itertools.product(*SPACE.values()):
        cfg = dict(zip(SPACE, values))
        score = objective(**cfg)
        print(json.dumps(cfg), round(score, 4))
        sys.stdout.flush()
        if best is None or score < best[0]:
            best = (score, cfg)
    print("best", best)


main()
