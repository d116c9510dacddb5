# %% [markdown]
# # Week 5: convolutional networks
# Exercise: train a small CNN and watch how the validation accuracy develops.

# %%
import numpy as np
import keras
from keras import layers

keras.utils.set_random_seed(42)

# %%
rng = np.random.default_rng(42)
X = rng.random((2400, 20, 20, 1)).astype("float32") * 0.5
Y = rng.integers(0, 4, 2400)
for i, c in enumerate(Y):
    r, s = divmod(int(c), 2)
    X[i, r * 10:r * 10 + 10, s * 10:s * 10 + 10] += 0.3
x_train, y_train = X[:800], Y[:800]
x_val, y_val = X[800:], Y[800:]


# %%
class LearningCurve(keras.callbacks.Callback):
    """Collects the points for the plot at the end of the notebook."""

    def __init__(self, x, y):
        super().__init__()
        self.x, self.y = x, y
        self.points = []

    def on_train_batch_end(self, batch, logs=None):
        logits = self.model(self.x, training=False)
        acc = float(np.mean(np.argmax(logits, axis=1) == self.y))
        self.points.append((logs["loss"], acc))

    def on_epoch_end(self, epoch, logs=None):
        print("epoch", epoch, "last point", self.points[-1])


# %%
model = keras.Sequential([
    layers.Input((20, 20, 1)),
    layers.Conv2D(16, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Conv2D(32, 3, activation="relu"),
    layers.GlobalAveragePooling2D(),
    layers.Dense(4),
])
model.compile(
    optimizer="adam",
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)

# %%
curve = LearningCurve(x_val, y_val)
model.fit(x_train, y_train, batch_size=32, epochs=6, verbose=2, callbacks=[curve])

# %%
print(len(curve.points), "points")
