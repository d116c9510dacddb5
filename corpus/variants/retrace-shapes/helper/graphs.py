import numpy as np
import tensorflow as tf


def molecule_stream(n, features):
    r = np.random.default_rng(81)
    sizes = r.permutation(np.arange(12, 12 + 3 * n))[:n]
    for atoms in sizes:
        a = (r.random((atoms, atoms)) < 0.1).astype("float32")
        a = np.maximum(a, a.T)
        nodes = r.standard_normal((atoms, features)).astype("float32")
        yield tf.constant(nodes), tf.constant(a), tf.constant([[float(a.mean())]])
