import numpy as np
import tensorflow as tf


class RatingData:
    def __init__(self, users, movies, count, seed=0, valid_share=0.25):
        rng = np.random.default_rng(seed)
        u, m = rng.integers(0, users, count), rng.integers(0, movies, count)
        taste = rng.normal(0, 0.7, (users, 3))
        theme = rng.normal(0, 0.7, (movies, 3))
        r = np.clip(3 + (taste[u] * theme[m]).sum(1) + rng.normal(0, 0.2, count), 1, 5)
        cut = int(count * (1 - valid_share))
        self._train = self._pack(u[:cut], m[:cut], r[:cut])
        self._valid = self._pack(u[cut:], m[cut:], r[cut:])
        self.n_train = cut

    @staticmethod
    def _pack(u, m, r):
        return {"user": u.astype("int32"), "movie": m.astype("int32")}, r.astype("float32")[:, None]

    @staticmethod
    def _options(ds):
        opts = tf.data.Options()
        opts.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
        return ds.with_options(opts)

    def train(self, batch, repeat=False):
        ds = tf.data.Dataset.from_tensor_slices(self._train).shuffle(self.n_train)
        if repeat:
            ds = ds.repeat()
        ds = ds.batch(batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
        return self._options(ds)

    def valid(self, batch):
        ds = tf.data.Dataset.from_tensor_slices(self._valid).batch(batch)
        return self._options(ds.prefetch(tf.data.AUTOTUNE))

    def steps(self, batch):
        return self.n_train // batch
