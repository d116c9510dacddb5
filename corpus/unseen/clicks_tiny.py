import numpy as np
import tensorflow as tf

n = 250_000
rng = np.random.default_rng(2)
raw = {
    "user": rng.integers(0, 5000, n).astype("int64"),
    "item": rng.integers(0, 2000, n).astype("int64"),
    "hour": rng.integers(0, 24, n).astype("int64"),
    "dwell": rng.exponential(20, n).astype("float32"),
}
click = (rng.random(n) < 0.2).astype("float32")


def prepare(row, label):
    h = tf.cast(row["hour"], tf.float32) / 24.0 * 6.2831853
    dense = tf.stack([tf.sin(h), tf.cos(h), tf.math.log1p(row["dwell"]), tf.minimum(row["dwell"], 60.0) / 60.0])
    return {"user": row["user"] % 5000, "item": row["item"] % 2000, "extra": dense}, label


ds = tf.data.Dataset.from_tensor_slices((raw, click))
ds = ds.map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
ds = ds.batch(512).prefetch(tf.data.AUTOTUNE)

user = tf.keras.Input((), name="user", dtype="int64")
item = tf.keras.Input((), name="item", dtype="int64")
extra = tf.keras.Input((4,), name="extra")
u = tf.keras.layers.Embedding(5000, 8)(user)
i = tf.keras.layers.Embedding(2000, 8)(item)
z = tf.keras.layers.Concatenate()([u, i, extra])
z = tf.keras.layers.Dense(32, activation="relu")(z)
out = tf.keras.layers.Dense(1, activation="sigmoid")(z)
model = tf.keras.Model({"user": user, "item": item, "extra": extra}, out)
model.compile(optimizer=tf.keras.optimizers.SGD(0.05), loss="binary_crossentropy")
model.fit(ds, epochs=2, verbose=2)
