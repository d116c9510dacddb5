import os, tempfile
import numpy as np
import keras
from keras import layers

rng = np.random.default_rng(0)
n = 2600
imgs = np.zeros((n, 40, 40, 1), "float32")
lab = rng.integers(0, 3, n)
yy, xx = np.mgrid[:40, :40]
cx, cy, r = rng.integers(12, 28, n), rng.integers(12, 28, n), rng.integers(5, 11, n)
for i in range(n):
    d = np.hypot(xx - cx[i], yy - cy[i]) if lab[i] == 0 else np.maximum(abs(xx - cx[i]), abs(yy - cy[i])) if lab[i] == 1 else abs(xx - cx[i]) + abs(yy - cy[i])
    imgs[i, ..., 0] = d < r[i]
imgs += rng.normal(0, 0.2, imgs.shape).astype("float32")

model = keras.Sequential([
    layers.Input((40, 40, 1)),
    layers.Conv2D(32, 3, activation="relu"), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(),
    layers.Conv2D(64, 3, activation="relu"), layers.Conv2D(64, 3, activation="relu"), layers.MaxPooling2D(),
    layers.Flatten(), layers.Dropout(0.3), layers.Dense(3, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
out = tempfile.mkdtemp()
model.fit(imgs, lab, batch_size=64, epochs=5, validation_split=0.15, verbose=2, callbacks=[
    keras.callbacks.ModelCheckpoint(os.path.join(out, "best.keras"), save_best_only=True),
    keras.callbacks.EarlyStopping(patience=3),
    keras.callbacks.CSVLogger(os.path.join(out, "log.csv")),
    keras.callbacks.ReduceLROnPlateau(patience=2),
])
