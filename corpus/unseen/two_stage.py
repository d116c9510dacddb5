# autoencoder first, classifier on its encoder second
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

rs = np.random.RandomState(12)
basis = rs.randn(30, 784).astype("float32")
code = rs.randn(9000, 30).astype("float32")
X = np.tanh(code @ basis / 5)
y = (code[:, 0] > 0).astype(int) * 2 + (code[:, 1] > 0)

enc = keras.Sequential([layers.Input((784,)), layers.Dense(768, activation="relu"), layers.Dense(256, activation="relu"), layers.Dense(64)])
dec = keras.Sequential([layers.Input((64,)), layers.Dense(768, activation="relu"), layers.Dense(784, activation="tanh")])
ae = keras.Sequential([enc, dec])
ae.compile("adam", "mse")
ae.fit(X, X, batch_size=128, epochs=6, verbose=2, validation_split=0.1)

clf = keras.Sequential([enc, layers.ReLU(), layers.Dense(4, activation="softmax")])
clf.compile(keras.optimizers.Adam(1e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
clf.fit(X[:8000], y[:8000], batch_size=128, epochs=6, verbose=2)
print(clf.evaluate(X[8000:], y[8000:], verbose=0))
