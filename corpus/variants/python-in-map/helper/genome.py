from __future__ import annotations

from itertools import product

import numpy as np
import tensorflow as tf

K = 4
KMERS = {"".join(p): n for n, p in enumerate(product("ACGT", repeat=K))}


class GenomeLoader:
    """Reads live in memory as strings, as they come out of the FASTA parser."""

    def __init__(self, n_reads: int, read_len: int, seed: int = 5) -> None:
        rng = np.random.default_rng(seed)
        self.reads = ["".join(rng.choice(list("ACGTacgt"), read_len)) for _ in range(n_reads)]
        self.species = rng.integers(0, 8, n_reads)

    @staticmethod
    def _count(read: bytes) -> np.ndarray:
        s = read.decode().upper()
        rc = s[::-1].translate(str.maketrans("ACGT", "TGCA"))
        v = np.zeros(len(KMERS), np.float32)
        for strand in (s, rc):
            for i in range(len(strand) - K + 1):
                v[KMERS[strand[i:i + K]]] += 1
        return v / v.sum()

    def _featurise(self, read: tf.Tensor, label: tf.Tensor):
        counts = tf.numpy_function(self._count, [read], tf.float32)
        return tf.ensure_shape(counts, (4 ** K,)), label

    def dataset(self, batch: int) -> tf.data.Dataset:
        ds = tf.data.Dataset.from_tensor_slices((self.reads, self.species))
        ds = ds.shuffle(len(self.reads)).map(self._featurise, num_parallel_calls=tf.data.AUTOTUNE)
        return ds.batch(batch).prefetch(tf.data.AUTOTUNE)
