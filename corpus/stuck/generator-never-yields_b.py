# EXPECT stuck=generator-never-yields line=30 also=29
# NOTE the archives hold "feats" but the reader asks for "features": the KeyError is swallowed for every file and tf.data.from_generator never gets an element. (Also fair: line 29.)
import argparse
import logging
import pathlib
import tempfile

import keras
import numpy as np
import tensorflow as tf

log = logging.getLogger("train_audio")


class FeatureStore:
    """Streams (features, label) pairs out of a folder with .npz files."""

    def __init__(self, folder, n_mels=40):
        self.files = sorted(pathlib.Path(folder).glob("*.npz"))
        self.n_mels = n_mels
        self.skipped = 0

    def stream(self):
        pos = 0
        while True:
            path = self.files[pos % len(self.files)]
            pos += 1
            try:
                with np.load(path) as z:
                    feats = z["features"].astype(np.float32)
                    label = z["label"]
            except (OSError, KeyError):
                self.skipped += 1
                continue
            yield feats[:, : self.n_mels], np.int32(label)

    def as_dataset(self, batch):
        spec = (
            tf.TensorSpec((None, self.n_mels), tf.float32),
            tf.TensorSpec((), tf.int32),
        )
        ds = tf.data.Dataset.from_generator(self.stream, output_signature=spec)
        return ds.padded_batch(batch, padded_shapes=((100, self.n_mels), ())).prefetch(2)


def write_fake_corpus(folder, n):
    rng = np.random.default_rng(0)
    for i in range(n):
        t = int(rng.integers(50, 100))
        np.savez(folder / f"utt{i:03d}.npz", feats=rng.normal(size=(t, 40)), label=i % 4)


def build_model(n_mels):
    inp = keras.Input((100, n_mels))
    x = keras.layers.GRU(16)(inp)
    out = keras.layers.Dense(4)(x)
    m = keras.Model(inp, out)
    m.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return m


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--steps", type=int, default=10)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO)

    with tempfile.TemporaryDirectory() as tmp:
        tmp = pathlib.Path(tmp)
        write_fake_corpus(tmp, 30)
        store = FeatureStore(tmp)
        log.info("%d utterances", len(store.files))
        model = build_model(store.n_mels)
        model.fit(store.as_dataset(args.batch), steps_per_epoch=args.steps, epochs=args.epochs)


if __name__ == "__main__":
    main()
