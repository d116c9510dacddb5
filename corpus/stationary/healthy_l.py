# EXPECT none
# NOTE small transformer block, functional API, fit with validation each epoch
import keras
import numpy as np
from keras import layers, ops


class PositionalEmbedding(layers.Layer):
    def __init__(self, length, vocab, dim, **kw):
        super().__init__(**kw)
        self.tok = layers.Embedding(vocab, dim)
        self.pos = layers.Embedding(length, dim)
        self.length = length

    def call(self, t):
        return self.tok(t) + self.pos(ops.arange(0, self.length))


def block(h, heads, dim):
    a = layers.MultiHeadAttention(heads, dim // heads)(h, h)
    h = layers.LayerNormalization()(h + a)
    f = layers.Dense(2 * dim, activation="gelu")(h)
    f = layers.Dense(dim)(f)
    return layers.LayerNormalization()(h + f)


def make(length=16, vocab=500, dim=32):
    i = layers.Input((length,), dtype="int32")
    h = PositionalEmbedding(length, vocab, dim)(i)
    h = block(h, 2, dim)
    o = layers.Dense(2, activation="softmax")(layers.GlobalAveragePooling1D()(h))
    return keras.Model(i, o)


if __name__ == "__main__":
    r = np.random.default_rng(0)
    seq = r.integers(0, 500, (14400, 16)).astype("int32")
    tgt = (seq.max(1) > 480).astype("int32")
    net = make()
    net.compile(keras.optimizers.Adam(5e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
    net.fit(seq[:12800], tgt[:12800], validation_data=(seq[12800:], tgt[12800:]), batch_size=32, epochs=14, verbose=2)
