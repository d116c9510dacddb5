# EXPECT cause=open-files-growth file=train.py line=30
# NOTE npz shards are opened lazily by np.load for every batch and the NpzFile handles are kept and never closed
import os
import resource
import tempfile
import numpy as np
import tensorflow as tf

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16384) if hard > 0 else 16384, hard))


def write_shards(folder, n=60):
    rs = np.random.RandomState(0)
    names = []
    for k in range(n):
        name = os.path.join(folder, "shard_%03d.npz" % k)
        a = rs.randn(64, 96).astype("float32")
        np.savez(name, x=a, y=(a.sum(1) > 0).astype("float32"))
        names.append(name)
    return names


class ShardReader:
    def __init__(self, names):
        self.names = names
        self.opened = []

    def load(self, k):
        shard = np.load(self.names[k % len(self.names)])
        self.opened.append(shard)
        return shard["x"], shard["y"]

    def __call__(self):
        for k in range(4500):
            yield self.load(k)


folder = tempfile.mkdtemp()
reader = ShardReader(write_shards(folder))
ds = tf.data.Dataset.from_generator(
    reader,
    output_signature=(tf.TensorSpec((64, 96), tf.float32), tf.TensorSpec((64,), tf.float32)),
).prefetch(4)

model = tf.keras.Sequential([
    tf.keras.layers.Input((96,)),
    tf.keras.layers.Dense(512, activation="relu"),
    tf.keras.layers.Dense(512, activation="relu"),
    tf.keras.layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(ds, epochs=1, verbose=2)
