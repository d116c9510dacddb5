"""Which learning rate keeps the first conv layer alive? Small grid on digit-like images."""
import keras
import numpy as np
from keras import layers

RATES = [1e-4, 1e-3, 1e-2, 5e-2]
rng = np.random.default_rng(0)
images = rng.random((1600, 28, 28, 1), dtype=np.float32)
labels = rng.integers(0, 4, 1600)
images[np.arange(1600), labels * 6] += 1.0
probe = images[:150]


class ActivationProbe(keras.callbacks.Callback):
    """Remembers what the first layer says about the probe images."""

    def __init__(self, probe, store):
        super().__init__()
        self.probe = probe
        self.store = store

    def on_train_batch_end(self, batch, logs=None):
        acts = self.model.layers[0](self.probe)
        self.store.append(np.asarray(acts))


def build(lr):
    net = keras.Sequential([
        layers.Input((28, 28, 1)),
        layers.Conv2D(16, 3, activation="relu"),
        layers.MaxPooling2D(),
        layers.Conv2D(48, 3, activation="relu"),
        layers.Conv2D(48, 3, activation="relu"),
        layers.Flatten(),
        layers.Dense(4, activation="softmax"),
    ])
    net.compile(keras.optimizers.SGD(lr), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return net


activations = {lr: [] for lr in RATES}
for lr in RATES:
    net = build(lr)
    hist = net.fit(images, labels, batch_size=50, epochs=1, verbose=0,
                   callbacks=[ActivationProbe(probe, activations[lr])])
    dead = float((activations[lr][-1].max(axis=(0, 1, 2)) <= 0).mean())
    print(f"lr={lr:<7g} accuracy {hist.history['accuracy'][-1]:.3f} dead channels {dead:.2f}")
