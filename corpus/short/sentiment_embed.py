"""Sentiment on synthetic reviews: TextVectorization + embedding + Conv1D."""
import argparse

import numpy as np
import tensorflow as tf
from tensorflow.keras import Sequential, layers

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=3)
ap.add_argument("--maxlen", type=int, default=120)
args = ap.parse_args()

rng = np.random.default_rng(8)
words = np.array([f"word{i}" for i in range(2000)])
idx = rng.integers(0, 2000, (2500, args.maxlen))
texts = [" ".join(row) for row in words[idx]]
labels = (idx[:, :20].mean(axis=1) > 1000).astype("float32")

vectorize = layers.TextVectorization(max_tokens=2000, output_sequence_length=args.maxlen)
vectorize.adapt(tf.data.Dataset.from_tensor_slices(texts).batch(256))
ids = vectorize(tf.constant(texts)).numpy()

model = Sequential([
    layers.Input((args.maxlen,), dtype="int32"),
    layers.Embedding(2000, 128),
    layers.Conv1D(128, 5, activation="relu"),
    layers.Conv1D(128, 5, activation="relu"),
    layers.GlobalMaxPooling1D(),
    layers.Dense(64, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
model.fit(ids, labels, batch_size=64, epochs=args.epochs, validation_split=0.15)
