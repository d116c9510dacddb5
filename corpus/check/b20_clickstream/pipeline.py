import numpy as np
import tensorflow as tf


class SessionPipeline:
    sizes = {"train": 2000, "val": 400}

    def __init__(self, fields, batch_size=128):
        self.fields = fields
        self.batch_size = batch_size

    def _table(self, split):
        n = self.sizes[split]
        rng = np.random.default_rng(len(split))
        cols = {k: rng.integers(0, v, n).astype("int32") for k, v in self.fields.items()}
        y = ((cols["device"] + cols["hour"]) % 3 == 0).astype("float32")
        return cols, y

    def build(self, split, repeat=True):
        ds = tf.data.Dataset.from_tensor_slices(self._table(split))
        if split == "train":
            ds = ds.shuffle(self.sizes[split])
        if repeat:
            ds = ds.repeat()
        ds = ds.batch(self.batch_size)
        return ds.prefetch(tf.data.AUTOTUNE)
