"""Encoder block with token + position embeddings on text, tf.data with TextVectorization done once."""
import time

import numpy as np
import tensorflow as tf
import keras
from keras import layers

SEQ, VOCAB, DIM = 64, 3000, 96
rng = np.random.default_rng(201)
words = np.array([f"tok{i}" for i in range(VOCAB - 10)])
corpus = [" ".join(rng.choice(words, rng.integers(30, 90))) for _ in range(1600)]
label = rng.integers(0, 4, 1600)

vec = layers.TextVectorization(max_tokens=VOCAB, output_sequence_length=SEQ)
vec.adapt(corpus)
ds = (tf.data.Dataset.from_tensor_slices((corpus, label))
      .batch(400).map(lambda t, y: (vec(t), y), num_parallel_calls=tf.data.AUTOTUNE)
      .unbatch().cache().shuffle(1600).batch(32, drop_remainder=True).prefetch(tf.data.AUTOTUNE))


class Embed(layers.Layer):
    def __init__(self, **kw):
        super().__init__(**kw)
        self.tok = layers.Embedding(VOCAB, DIM)
        self.pos = layers.Embedding(SEQ, DIM)

    def call(self, x):
        return self.tok(x) + self.pos(keras.ops.arange(SEQ))


i = keras.Input((SEQ,), dtype="int64")
h = Embed()(i)
for _ in range(2):
    a = layers.MultiHeadAttention(4, 24, dropout=0.1)(h, h)
    h = layers.LayerNormalization()(h + a)
    f = layers.Dense(DIM)(layers.Dense(384, activation="relu")(h))
    h = layers.LayerNormalization()(h + f)
model = keras.Model(i, layers.Dense(4, activation="softmax")(layers.GlobalAveragePooling1D()(h)))
model.compile(keras.optimizers.AdamW(5e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
t0 = time.perf_counter()
model.fit(ds, epochs=6, verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
