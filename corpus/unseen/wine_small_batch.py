import numpy as np
from tensorflow import keras

rng = np.random.default_rng(1)
X = rng.normal(size=(5000, 11)).astype("float32")
y = (X @ rng.normal(size=11) + rng.normal(size=5000)).astype("float32")
X = (X - X.mean(0)) / X.std(0)

model = keras.Sequential([
    keras.layers.Input((11,)),
    keras.layers.Dense(32, activation="relu"),
    keras.layers.Dense(16, activation="relu"),
    keras.layers.Dense(1),
])
model.compile(optimizer="sgd", loss="mse", metrics=["mae"])
hist = model.fit(X, y, epochs=3, batch_size=2, verbose=2)
