"""Small U-Net, subclassed train_step, TFRecord shards read in parallel."""
import os
import tempfile
import time

import numpy as np
import tensorflow as tf

keras = tf.keras
L = keras.layers
rng = np.random.default_rng(15)
folder = tempfile.mkdtemp()
files = []
for s in range(4):
    f = os.path.join(folder, f"part-{s}.tfrecord")
    files.append(f)
    with tf.io.TFRecordWriter(f) as w:
        for _ in range(64):
            img = rng.integers(0, 255, (64, 64, 1), dtype=np.uint8)
            mask = (img > 128).astype(np.uint8)
            feat = {k: tf.train.Feature(bytes_list=tf.train.BytesList(value=[v.tobytes()])) for k, v in (("i", img), ("m", mask))}
            w.write(tf.train.Example(features=tf.train.Features(feature=feat)).SerializeToString())
SPEC = {"i": tf.io.FixedLenFeature([], tf.string), "m": tf.io.FixedLenFeature([], tf.string)}


def parse(batch):
    ex = tf.io.parse_example(batch, SPEC)
    img = tf.reshape(tf.io.decode_raw(ex["i"], tf.uint8), (-1, 64, 64, 1))
    mask = tf.reshape(tf.io.decode_raw(ex["m"], tf.uint8), (-1, 64, 64, 1))
    return tf.cast(img, tf.float32) / 255.0, tf.cast(mask, tf.float32)


ds = (tf.data.TFRecordDataset(files, num_parallel_reads=4).shuffle(256).batch(16, drop_remainder=True)
      .map(parse, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE))


class Seg(keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True))
        g = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(g, self.trainable_variables))
        return {"loss": loss}


i = keras.Input((64, 64, 1))
a = L.Conv2D(24, 3, padding="same", activation="relu")(i)
b = L.Conv2D(48, 3, padding="same", activation="relu")(L.MaxPooling2D()(a))
c = L.Conv2D(96, 3, padding="same", activation="relu")(L.MaxPooling2D()(b))
d = L.Conv2D(48, 3, padding="same", activation="relu")(L.Concatenate()([L.UpSampling2D()(c), b]))
e = L.Conv2D(24, 3, padding="same", activation="relu")(L.Concatenate()([L.UpSampling2D()(d), a]))
m = Seg(i, L.Conv2D(1, 1, activation="sigmoid")(e))
m.compile("adam", "binary_crossentropy")
t0 = time.perf_counter()
m.fit(ds, epochs=5, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
