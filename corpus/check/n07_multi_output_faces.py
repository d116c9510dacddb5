# EXPECT none
# NOTE healthy multi-output model fed by a PyDataset (PIL reading in worker processes/threads is its purpose), losses and metrics by name
# SEEN ran to the end (rc 0), no complaint of its own
"""Age, expression and glasses from portraits: one backbone, three heads."""
import math
import tempfile
from pathlib import Path

import keras
import numpy as np
from keras import layers as L
from PIL import Image

SIZE = 40
EXPRESSIONS = ("neutral", "smile", "frown")


def write_portraits(folder, n, seed):
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        age = rng.uniform(10, 80)
        expression = int(rng.integers(0, 3))
        glasses = int(rng.integers(0, 2))
        img = np.full((SIZE, SIZE), 40 + age * 2, dtype="float32")
        img[28:32, 12:28] = (20, 120, 250)[expression]
        if glasses:
            img[12:16, 8:32] = 0
        img += rng.normal(0, 8, img.shape)
        name = f"p{seed}_{i:04d}.png"
        Image.fromarray(img.clip(0, 255).astype("uint8")).save(folder / name)
        rows.append({"file": name, "age": age, "expression": expression, "glasses": glasses})
    return rows


class Portraits(keras.utils.PyDataset):
    def __init__(self, folder, rows, batch_size, shuffle=False, seed=0, **kwargs):
        super().__init__(**kwargs)
        self.folder = folder
        self.rows = rows
        self.batch_size = batch_size
        self.rng = np.random.default_rng(seed) if shuffle else None
        self.order = np.arange(len(rows))
        self.on_epoch_end()

    def __len__(self):
        return math.ceil(len(self.rows) / self.batch_size)

    def __getitem__(self, idx):
        rows = [self.rows[i] for i in self.order[idx * self.batch_size:(idx + 1) * self.batch_size]]
        x = np.stack([self._image(r["file"]) for r in rows])
        y = {
            "age": np.array([r["age"] / 100 for r in rows], dtype="float32"),
            "expression": np.array([r["expression"] for r in rows], dtype="int32"),
            "glasses": np.array([r["glasses"] for r in rows], dtype="float32"),
        }
        return x, y

    def _image(self, name):
        path = self.folder / name
        try:
            with Image.open(path) as im:
                return np.asarray(im.convert("L"), dtype="float32")[..., None]
        except OSError as err:
            raise RuntimeError(f"cannot read portrait {path}") from err

    def on_epoch_end(self):
        if self.rng is not None:
            self.rng.shuffle(self.order)


def backbone(x, widths=(8, 16, 32)):
    for w in widths:
        x = L.Conv2D(w, 3, padding="same", use_bias=False)(x)
        x = L.BatchNormalization()(x)
        x = L.Activation("relu")(x)
        x = L.MaxPooling2D()(x)
    return L.Flatten()(x)


def head(features, units, name, activation=None):
    h = L.Dense(16, activation="relu", name=f"{name}_hidden")(features)
    return L.Dense(units, activation=activation, name=name)(h)


def build():
    inputs = keras.Input((SIZE, SIZE, 1), name="portrait")
    features = L.Dropout(0.2)(backbone(L.Rescaling(1 / 255)(inputs)))
    return keras.Model(
        inputs,
        {
            "age": head(features, 1, "age"),
            "expression": head(features, len(EXPRESSIONS), "expression", "softmax"),
            "glasses": head(features, 1, "glasses", "sigmoid"),
        },
    )


LOSSES = {
    "age": "mse",
    "expression": "sparse_categorical_crossentropy",
    "glasses": "binary_crossentropy",
}
WEIGHTS = {"age": 2.0, "expression": 1.0, "glasses": 1.0}
METRICS = {"age": ["mae"], "expression": ["accuracy"], "glasses": ["accuracy"]}


def report(model, data, rows):
    out = model.predict(data, verbose=0)
    ages = out["age"][:, 0] * 100
    worst = np.argsort(-np.abs(ages - np.array([r["age"] for r in rows])))[:3]
    for i in worst:
        print(rows[i]["file"], f"said {ages[i]:.0f}, is {rows[i]['age']:.0f}")
    for i, row in enumerate(rows[:3]):
        name = EXPRESSIONS[int(out["expression"][i].argmax())]
        print(row["file"], name, "glasses" if out["glasses"][i, 0] > 0.5 else "no glasses")


def main():
    keras.utils.set_random_seed(33)
    with tempfile.TemporaryDirectory() as tmp:
        folder = Path(tmp)
        train_rows = write_portraits(folder, 240, seed=0)
        val_rows = write_portraits(folder, 60, seed=1)
        train = Portraits(folder, train_rows, 20, shuffle=True, workers=2, max_queue_size=4)
        val = Portraits(folder, val_rows, 20)

        model = build()
        model.compile(
            optimizer=keras.optimizers.Adam(1e-3),
            loss=LOSSES,
            loss_weights=WEIGHTS,
            metrics=METRICS,
        )
        model.fit(
            train,
            validation_data=val,
            epochs=3,
            verbose=2,
            callbacks=[
                keras.callbacks.EarlyStopping(
                    monitor="val_expression_accuracy", mode="max", patience=3
                ),
                keras.callbacks.TerminateOnNaN(),
            ],
        )
        report(model, val, val_rows)


if __name__ == "__main__":
    main()
