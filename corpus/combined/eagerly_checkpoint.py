# EXPECT first=run-eagerly-on file=train.py line=16 second=checkpoint-too-often
# WHY run_eagerly in the compile helper costs most; weights saved every 3 batches cost less
"""Tabular churn model, still with debugging switched on."""
import os
import tempfile
import time

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

SETTINGS = dict(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])


def ready(model, debugging):
    model.compile(run_eagerly=debugging, **SETTINGS)
    return model


def churn_net(cols):
    m = keras.Sequential([layers.Input((cols,))])
    for _ in range(4):
        m.add(layers.Dense(160))
        m.add(layers.BatchNormalization())
        m.add(layers.PReLU())
    m.add(layers.Dense(1, activation="sigmoid"))
    return m


r = np.random.default_rng(309)
x = r.standard_normal((4000, 26)).astype("float32")
y = (x[:, :2].sum(1, keepdims=True) > 0).astype("float32")
model = ready(churn_net(26), debugging=True)
saver = keras.callbacks.ModelCheckpoint(os.path.join(tempfile.mkdtemp(), "w.weights.h5"), save_weights_only=True, save_freq=3)
t0 = time.perf_counter()
model.fit(x, y, batch_size=50, epochs=2, callbacks=[saver], verbose=2)
print(f"training took {time.perf_counter() - t0:.1f} s")
