# EXPECT cause=growing-generator file=train.py line=26
# NOTE PyDataset centres each batch with the mean of all rows seen so far, concatenated again per batch
import keras
import numpy as np


class OnlineCentredStream(keras.utils.PyDataset):
    """Simulates a stream; the mean comes from everything that has come by."""

    def __init__(self, n_batches, batch_size=32, dim=40, **kw):
        super().__init__(**kw)
        self.n_batches = n_batches
        self.batch_size = batch_size
        self.dim = dim
        self.w = np.random.default_rng(0).normal(size=(dim, 3))
        self.rng = np.random.default_rng(11)
        self.past = []

    def __len__(self):
        return self.n_batches

    def __getitem__(self, idx):
        raw = self.rng.gamma(2.0, 3.0, size=(self.batch_size, self.dim)).astype("float32")
        target = np.argmax((raw - 6.0) @ self.w, axis=1)
        self.past.append(raw)
        mu = np.concatenate(self.past).mean(axis=0)
        return (raw - mu) / 4.2, target


def get_model(dim, classes):
    model = keras.Sequential(name="stream_clf")
    model.add(keras.Input((dim,)))
    for units in (256, 256):
        model.add(keras.layers.Dense(units))
        model.add(keras.layers.Activation("relu"))
    model.add(keras.layers.Dense(classes))
    model.compile(
        optimizer=keras.optimizers.Adam(5e-4),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


if __name__ == "__main__":
    stream = OnlineCentredStream(n_batches=400)
    clf = get_model(stream.dim, 3)
    clf.fit(stream, epochs=10, shuffle=False, verbose=2)
