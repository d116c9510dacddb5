# EXPECT generator-never-yields line=27
# EXPECT swallowed-errors line=32
# NOTE when no file can be read (folder moved, wrong suffix) the while loop goes round and round and never yields: fit hangs without a word. generator-never-yields is the `while True` line; the except that swallows is told too (either one alone would be an acceptable report)
# SEEN never finished: killed by timeout after 45 s, not even 'Epoch 1/1' was printed
"""Chest x-ray screening; images live on a network drive."""
import os
import tempfile

import numpy as np
from PIL import Image
from tensorflow.keras import layers, models, optimizers

SIDE = 64
BATCH = 8


def load_scan(path):
    with Image.open(path) as im:
        im = im.convert("L").resize((SIDE, SIDE))
        return np.asarray(im, dtype="float32")[..., None] / 255.0


def scan_batches(table, root, batch_size=BATCH, seed=0):
    """table: list of (file name, label)."""
    rng = np.random.default_rng(seed)
    xs, ys = [], []
    while True:
        for k in rng.permutation(len(table)):
            name, label = table[k]
            try:
                scan = load_scan(os.path.join(root, name))
            except Exception:
                continue
            xs.append(scan)
            ys.append(label)
            if len(xs) == batch_size:
                yield np.stack(xs), np.array(ys, dtype="float32")
                xs, ys = [], []


def build():
    m = models.Sequential(
        [
            layers.Input((SIDE, SIDE, 1)),
            layers.Conv2D(8, 3, strides=2, activation="relu"),
            layers.Conv2D(16, 3, strides=2, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    m.compile(optimizer=optimizers.Adam(1e-3), loss="binary_crossentropy", metrics=["AUC"])
    return m


def write_demo_scans(root, n):
    rng = np.random.default_rng(9)
    table = []
    for i in range(n):
        label = i % 2
        a = rng.normal(100 + 40 * label, 20, (80, 80)).clip(0, 255).astype("uint8")
        name = f"scan{i:03d}.png"
        Image.fromarray(a).save(os.path.join(root, name))
        table.append((name, label))
    return table


if __name__ == "__main__":
    root = os.environ.get("XRAY_ROOT") or tempfile.mkdtemp()
    demo = tempfile.mkdtemp()
    table = write_demo_scans(demo, 48)
    # the demo scans lie in `demo`, but the mount point of the server is used:
    train, valid = table[:40], table[40:]
    model = build()
    model.fit(
        scan_batches(train, root),
        steps_per_epoch=len(train) // BATCH,
        validation_data=scan_batches(valid, root),
        validation_steps=len(valid) // BATCH,
        epochs=1,
        verbose=2,
    )
