# EXPECT: model.train_on_batch called per slice in a Python loop; per-call Keras overhead dominates a tiny model
# TWIST: none
# Boston-housing like regression, following the tutorial
import os
import numpy as np
from tensorflow import keras
from tensorflow.keras.layers import Dense, Input

here = os.path.dirname(os.path.abspath(__file__))
data_dir = os.path.join(here, "data", "tob_slices")
npz = os.path.join(data_dir, "houses.npz")

if not os.path.exists(npz):
    os.makedirs(data_dir, exist_ok=True)
    X = np.random.randn(2400, 13).astype("float32")
    w = np.random.randn(13)
    y = X @ w + 0.5 * X[:, 0] * X[:, 1] + 0.1 * np.random.randn(2400)
    np.savez(npz, X=X, y=y.astype("float32"))

d = np.load(npz)
X_train = d["X"][:2000]
y_train = d["y"][:2000]
X_test = d["X"][2000:]
y_test = d["y"][2000:]
print("X_train:", X_train.shape, "y_train:", y_train.shape)

model = keras.Sequential()
model.add(Input(shape=(13,)))
model.add(Dense(32, activation="relu"))
model.add(Dense(16, activation="relu"))
model.add(Dense(1))
model.compile(loss="mse", optimizer="adam")

epochs = 30
batch_size = 20
num_batches = len(X_train) // batch_size

for epoch in range(epochs):
    total_loss = 0
    for b in range(num_batches):
        x_batch = X_train[b * batch_size:(b + 1) * batch_size]
        y_batch = y_train[b * batch_size:(b + 1) * batch_size]
        loss = model.train_on_batch(x_batch, y_batch)
        total_loss = total_loss + loss
    print("Epoch", epoch + 1, "/", epochs, "- mean loss:", round(float(total_loss / num_batches), 4))

print("Test loss:", model.evaluate(X_test, y_test, verbose=0))
