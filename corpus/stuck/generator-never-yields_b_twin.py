# EXPECT moving
# NOTE three of four archives are skipped and reading is slow, so a batch takes some 4 s, but batches do come.
import argparse
import logging
import pathlib
import tempfile
import time

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
                    time.sleep(0.25)
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
        key = "features" if i % 4 == 3 else "feats"
        np.savez(folder / f"utt{i:03d}.npz", **{key: rng.normal(size=(t, 40)), "label": i % 3})


def build_model(n_mels):
    inp = keras.Input((100, n_mels))
    x = keras.layers.GRU(16)(inp)
    out = keras.layers.Dense(4)(x)
    m = keras.Model(inp, out)
    m.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return m


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--batch", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--steps", type=int, default=3)
    args = ap.parse_args()
    logging.basicConfig(level=logging.INFO)

    with tempfile.TemporaryDirectory() as tmp:
        tmp = pathlib.Path(tmp)
        write_fake_corpus(tmp, 32)
        store = FeatureStore(tmp)
        log.info("%d utterances", len(store.files))
        model = build_model(store.n_mels)
        model.fit(store.as_dataset(args.batch), steps_per_epoch=args.steps, epochs=args.epochs)


if __name__ == "__main__":
    main()
