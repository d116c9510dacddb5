"""Transformer encoder for review classification with a per-class report after each epoch."""
import numpy as np
import keras
from keras import layers
from sklearn.metrics import classification_report

keras.utils.set_random_seed(12)
VOCAB, LEN, DIM, CLASSES = 4000, 96, 96, 3


def reviews(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, n)
    x = rng.integers(10, VOCAB, (n, LEN))
    for c in range(CLASSES):
        rows = np.where(y == c)[0]
        x[rows[:, None], rng.integers(0, LEN, (len(rows), 4))] = c + 1
    return x.astype("int32"), y


class Positions(layers.Layer):
    def build(self, shape):
        self.table = self.add_weight(shape=(shape[1], shape[2]), initializer="uniform", name="pos")

    def call(self, x):
        return x + self.table


def block(x, heads=4):
    a = layers.MultiHeadAttention(heads, DIM // heads)(x, x)
    x = layers.LayerNormalization()(x + a)
    h = layers.Dense(DIM * 3, activation="gelu")(x)
    return layers.LayerNormalization()(x + layers.Dense(DIM)(h))


class Report(keras.callbacks.Callback):
    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y

    def on_epoch_end(self, epoch, logs=None):
        p = self.model.predict(self.x, batch_size=128, verbose=0).argmax(1)
        r = classification_report(self.y, p, output_dict=True, zero_division=0)
        print("  macro f1", round(r["macro avg"]["f1-score"], 3))


inp = keras.Input((LEN,), dtype="int32")
x = Positions()(layers.Embedding(VOCAB, DIM)(inp))
for _ in range(2):
    x = block(x)
x = layers.GlobalAveragePooling1D()(x)
model = keras.Model(inp, layers.Dense(CLASSES)(x))
schedule = keras.optimizers.schedules.CosineDecay(1e-3, 100)
model.compile(keras.optimizers.AdamW(schedule),
              keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
x_tr, y_tr = reviews(900, 0)
x_va, y_va = reviews(128, 1)
model.fit(x_tr, y_tr, batch_size=32, epochs=4, verbose=2, callbacks=[Report(x_va, y_va)])
