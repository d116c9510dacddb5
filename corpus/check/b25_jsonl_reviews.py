# EXPECT swallowed-errors line=39
# NOTE bare except + pass in the reading generator: lines with a missing field vanish; a renamed field would empty the data set step by step unseen
# SEEN ran (rc 0) without a word; 600 lines, 540 samples (counted)
"""Sentiment from JSON lines."""
import json
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras.layers import Dense, Embedding, Input, LSTM, TextVectorization

VOCAB, LEN = 300, 12


def write_reviews(path, n=600):
    rng = np.random.default_rng(4)
    nice = ["good", "great", "lovely", "fine", "superb"]
    nasty = ["bad", "awful", "boring", "poor", "dull"]
    filler = ["the", "film", "was", "and", "very", "plot", "cast", "music"]
    with open(path, "w") as fh:
        for i in range(n):
            stars = int(rng.integers(1, 6))
            pool = nice if stars > 3 else nasty
            words = list(rng.choice(pool, 3)) + list(rng.choice(filler, 6))
            rng.shuffle(words)
            row = {"text": " ".join(words), "stars": stars}
            if i % 10 == 0:
                row["rating"] = row.pop("stars")  # the export of 2019 had another name
            fh.write(json.dumps(row) + "\n")


def read_reviews(path):
    for line in Path(path).read_text().splitlines():
        try:
            row = json.loads(line)
            yield row["text"].lower(), float(row["stars"] > 3)
        except:
            pass


def prepare(path):
    texts, labels = map(list, zip(*read_reviews(path)))
    cut = int(0.8 * len(texts))
    vectorize = TextVectorization(max_tokens=VOCAB, output_sequence_length=LEN)
    vectorize.adapt(texts[:cut])

    def to_ds(t, y, training):
        ds = tf.data.Dataset.from_tensor_slices((t, y))
        if training:
            ds = ds.shuffle(len(t), seed=1)
        ds = ds.batch(32)
        ds = ds.map(lambda a, b: (vectorize(a), b), num_parallel_calls=tf.data.AUTOTUNE)
        return ds.prefetch(tf.data.AUTOTUNE)

    return to_ds(texts[:cut], labels[:cut], True), to_ds(texts[cut:], labels[cut:], False)


def main():
    keras.utils.set_random_seed(4)
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(tmp) / "reviews.jsonl"
        write_reviews(path)
        train_ds, val_ds = prepare(path)

        model = keras.Sequential([
            Input((LEN,), dtype="int64"),
            Embedding(VOCAB, 16, mask_zero=True),
            LSTM(16),
            Dense(1, activation="sigmoid"),
        ])
        model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
        model.fit(train_ds, validation_data=val_ds, epochs=2, verbose=2)


if __name__ == "__main__":
    main()
