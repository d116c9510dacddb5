# EXPECT none
# NOTE healthy text model: TextVectorization in the pipeline, a transformer block as a Layer, class weights, export of an end-to-end model, one predict over all new tickets
# SEEN ran to the end (rc 0), no complaint of its own
"""Route support tickets to the right team.

The vocabulary is learned from the training split only.  The exported model takes raw strings.
"""
import argparse
import os
import re
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

TEAMS = ["billing", "network", "hardware"]
MAX_TOKENS = 500
SEQ_LEN = 24


def make_tickets(n, seed):
    rng = np.random.default_rng(seed)
    words = {
        "billing": "invoice refund charge payment card price".split(),
        "network": "router wifi vpn latency dns offline".split(),
        "hardware": "screen battery keyboard fan broken laptop".split(),
    }
    common = "hello please help my the is since yesterday thanks not working".split()
    texts, labels = [], []
    for _ in range(n):
        label = int(rng.choice(3, p=[0.5, 0.3, 0.2]))
        w = list(rng.choice(words[TEAMS[label]], 4)) + list(rng.choice(common, 8))
        rng.shuffle(w)
        texts.append(" ".join(w).capitalize() + "!")
        labels.append(label)
    return texts, np.array(labels, dtype="int32")


def standardize(text):
    text = tf.strings.lower(text)
    return tf.strings.regex_replace(text, f"[{re.escape('!?.,;')}]", "")


def make_vectorizer(texts):
    vectorizer = layers.TextVectorization(
        max_tokens=MAX_TOKENS, output_sequence_length=SEQ_LEN, standardize=standardize
    )
    vectorizer.adapt(tf.data.Dataset.from_tensor_slices(texts).batch(128))
    return vectorizer


@keras.utils.register_keras_serializable("tickets")
class TokenAndPosition(layers.Layer):
    def __init__(self, vocab, length, dim, **kwargs):
        super().__init__(**kwargs)
        self.vocab, self.length, self.dim = vocab, length, dim
        self.tokens = layers.Embedding(vocab, dim)
        self.positions = layers.Embedding(length, dim)

    def build(self, input_shape):
        self.tokens.build(input_shape)
        self.positions.build((self.length,))

    def call(self, ids):
        return self.tokens(ids) + self.positions(tf.range(self.length))

    def get_config(self):
        return {**super().get_config(), "vocab": self.vocab, "length": self.length, "dim": self.dim}


@keras.utils.register_keras_serializable("tickets")
class TransformerBlock(layers.Layer):
    def __init__(self, dim, heads, ff, rate=0.1, **kwargs):
        super().__init__(**kwargs)
        self.dim, self.heads, self.ff, self.rate = dim, heads, ff, rate
        self.attention = layers.MultiHeadAttention(heads, dim // heads)
        self.dense = keras.Sequential([layers.Dense(ff, activation="gelu"), layers.Dense(dim)])
        self.norm1 = layers.LayerNormalization(epsilon=1e-6)
        self.norm2 = layers.LayerNormalization(epsilon=1e-6)
        self.drop1 = layers.Dropout(rate)
        self.drop2 = layers.Dropout(rate)

    def build(self, input_shape):
        self.attention.build(input_shape, input_shape)
        self.dense.build(input_shape)
        self.norm1.build(input_shape)
        self.norm2.build(input_shape)

    def call(self, x, training=None):
        a = self.drop1(self.attention(x, x), training=training)
        x = self.norm1(x + a)
        d = self.drop2(self.dense(x), training=training)
        return self.norm2(x + d)

    def get_config(self):
        return {
            **super().get_config(),
            "dim": self.dim,
            "heads": self.heads,
            "ff": self.ff,
            "rate": self.rate,
        }


def build(dim=32, heads=2, blocks=2):
    ids = keras.Input((SEQ_LEN,), dtype="int64")
    x = TokenAndPosition(MAX_TOKENS, SEQ_LEN, dim)(ids)
    for _ in range(blocks):
        x = TransformerBlock(dim, heads, ff=2 * dim)(x)
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dropout(0.2)(x)
    return keras.Model(ids, layers.Dense(len(TEAMS), activation="softmax")(x))


def pipeline(texts, labels, vectorizer, batch, training):
    ds = tf.data.Dataset.from_tensor_slices((texts, labels))
    if training:
        ds = ds.shuffle(len(texts), seed=0)
    ds = ds.batch(batch)
    ds = ds.map(lambda t, y: (vectorizer(t), y), num_parallel_calls=tf.data.AUTOTUNE)
    return ds.prefetch(tf.data.AUTOTUNE)


def class_weights(labels):
    counts = np.bincount(labels, minlength=len(TEAMS))
    return {i: float(len(labels) / (len(TEAMS) * c)) for i, c in enumerate(counts)}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--batch", type=int, default=32)
    args = ap.parse_args()
    keras.utils.set_random_seed(0)

    train_x, train_y = make_tickets(800, 0)
    val_x, val_y = make_tickets(200, 1)
    vectorizer = make_vectorizer(train_x)
    train = pipeline(train_x, train_y, vectorizer, args.batch, True)
    val = pipeline(val_x, val_y, vectorizer, args.batch, False)

    model = build()
    steps = len(train) * args.epochs
    schedule = keras.optimizers.schedules.CosineDecay(
        1e-4, decay_steps=steps, warmup_target=2e-3, warmup_steps=steps // 10
    )
    model.compile(
        optimizer=keras.optimizers.Adam(schedule),
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
    )
    model.fit(
        train,
        validation_data=val,
        epochs=args.epochs,
        class_weight=class_weights(train_y),
        callbacks=[keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True)],
        verbose=2,
    )

    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "tickets.keras")
        model.save(path)
        again = keras.models.load_model(path)

    new = ["My invoice shows a wrong charge!", "vpn offline since yesterday", "the battery is broken"]
    probs = again.predict(vectorizer(tf.constant(new)), verbose=0)
    for text, p in zip(new, probs):
        print(f"{TEAMS[int(p.argmax())]:9s} {p.max():.2f}  {text}")


if __name__ == "__main__":
    main()
