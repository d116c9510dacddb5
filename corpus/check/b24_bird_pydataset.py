# EXPECT swallowed-errors line=48
# NOTE __getitem__ drops every clip that fails, silently: here 1/4 of the files have a broken header and the model never sees them (batch sizes vary; nobody notices)
# SEEN ran (rc 0) without a word; 48 files, 36 samples seen (counted)
"""Bird call classification with a PyDataset."""
import math
import tempfile
import wave
from pathlib import Path

import keras
import numpy as np
from keras import layers

RATE = 4000
SECONDS = 0.5
SAMPLES = int(RATE * SECONDS)
BIRDS = {"wren": 440.0, "robin": 880.0}


def read_clip(path):
    with wave.open(str(path), "rb") as w:
        raw = w.readframes(w.getnframes())
    x = np.frombuffer(raw, dtype="<i2").astype("float32") / 32768.0
    if len(x) != SAMPLES:
        raise ValueError(f"{path}: {len(x)} samples, wanted {SAMPLES}")
    return x[:, None]


class BirdCalls(keras.utils.PyDataset):
    def __init__(self, paths, labels, batch_size=8, shuffle=False, **kwargs):
        super().__init__(**kwargs)
        self.paths, self.labels = list(paths), list(labels)
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.order = np.arange(len(self.paths))
        self.on_epoch_end()

    def __len__(self):
        return math.ceil(len(self.paths) / self.batch_size)

    def __getitem__(self, index):
        lo = index * self.batch_size
        xs, ys = [], []
        for i in self.order[lo:lo + self.batch_size]:
            try:
                xs.append(read_clip(self.paths[i]))
                ys.append(self.labels[i])
            except Exception:
                continue
        return np.stack(xs), np.array(ys, dtype="int32")

    def on_epoch_end(self):
        if self.shuffle:
            np.random.shuffle(self.order)


def record(root, per_bird=24):
    rng = np.random.default_rng(1)
    t = np.arange(SAMPLES) / RATE
    paths, labels = [], []
    for label, (bird, freq) in enumerate(BIRDS.items()):
        for i in range(per_bird):
            sound = 0.4 * np.sin(2 * np.pi * freq * t) + rng.normal(0, 0.05, SAMPLES)
            path = Path(root) / f"{bird}_{i}.wav"
            with wave.open(str(path), "wb") as w:
                w.setnchannels(1)
                w.setsampwidth(2)
                w.setframerate(RATE)
                w.writeframes((sound * 32767).astype("<i2").tobytes())
            if i % 4 == 3:
                path.write_bytes(b"JUNK" + path.read_bytes()[4:])
            paths.append(path)
            labels.append(label)
    return paths, labels


def build():
    return keras.Sequential([
        keras.Input((SAMPLES, 1)),
        layers.Conv1D(8, 32, strides=8, activation="relu"),
        layers.Conv1D(16, 16, strides=4, activation="relu"),
        layers.GlobalAveragePooling1D(),
        layers.Dense(len(BIRDS), activation="softmax"),
    ])


if __name__ == "__main__":
    keras.utils.set_random_seed(12)
    with tempfile.TemporaryDirectory() as tmp:
        paths, labels = record(tmp)
        data = BirdCalls(paths, labels, shuffle=True, workers=1)
        model = build()
        model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
        model.fit(data, epochs=2, verbose=2)
