# EXPECT tfmot-keras3 line=40
# NOTE tfmot wraps only tf_keras (Keras 2) models; `import keras` is Keras 3
# SEEN run with tfmot 0.8.1 + tf_keras 2.21 in a private folder: ValueError: `prune_low_magnitude` can only prune an object of the following types …
"""Prune a small classifier to 80 % zeros."""
import tempfile

import keras
import numpy as np
import tensorflow_model_optimization as tfmot

BATCH = 32
EPOCHS = 2


def data(n=512):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 20)).astype("float32")
    y = (x[:, :5].sum(1) > 0).astype("int32")
    return x, y


def base_model():
    model = keras.Sequential([
        keras.layers.Input((20,)),
        keras.layers.Dense(64, activation="relu"),
        keras.layers.Dense(2, activation="softmax"),
    ])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


x, y = data()
model = base_model()
model.fit(x, y, epochs=EPOCHS, batch_size=BATCH, validation_split=0.1, verbose=2)

end_step = int(np.ceil(0.9 * len(x) / BATCH)) * EPOCHS
schedule = tfmot.sparsity.keras.PolynomialDecay(
    initial_sparsity=0.3, final_sparsity=0.8, begin_step=0, end_step=end_step, frequency=5
)
pruned = tfmot.sparsity.keras.prune_low_magnitude(model, pruning_schedule=schedule)
pruned.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
pruned.fit(
    x, y, epochs=EPOCHS, batch_size=BATCH, validation_split=0.1, verbose=2,
    callbacks=[tfmot.sparsity.keras.UpdatePruningStep()],
)
final = tfmot.sparsity.keras.strip_pruning(pruned)
final.save(tempfile.mkdtemp() + "/pruned.keras")
