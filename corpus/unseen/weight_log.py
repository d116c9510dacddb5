import json, tempfile
import numpy as np
import tensorflow as tf

log = open(tempfile.mktemp(suffix=".jsonl"), "w")


def describe(model, grads):
    row = {}
    for v, g in zip(model.trainable_variables, grads):
        h, edges = np.histogram(v.numpy(), bins=50)
        gh, _ = np.histogram(g.numpy(), bins=50)
        row[v.path] = {"w": h.tolist(), "e": edges.tolist(), "g": gh.tolist(), "norm": float(np.linalg.norm(v.numpy()))}
    log.write(json.dumps(row) + "\n")


def main():
    inp = tf.keras.Input((28, 28, 1))
    x = tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu")(inp)
    x = tf.keras.layers.Flatten()(x)
    x = tf.keras.layers.Dense(256, activation="relu")(x)
    model = tf.keras.Model(inp, tf.keras.layers.Dense(10)(x))
    opt = tf.keras.optimizers.SGD(0.01)
    ce = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(x, y):
        with tf.GradientTape() as t:
            l = ce(y, model(x, training=True))
        g = t.gradient(l, model.trainable_variables)
        opt.apply_gradients(zip(g, model.trainable_variables))
        return l, g

    rs = np.random.RandomState(0)
    ds = tf.data.Dataset.from_tensor_slices((rs.rand(3200, 28, 28, 1).astype("float32"), rs.randint(0, 10, 3200))).batch(64)
    for epoch in range(3):
        for x, y in ds:
            l, g = step(x, y)
            describe(model, g)
        print(epoch, float(l))


if __name__ == "__main__":
    main()
