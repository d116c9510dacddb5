"""A model of Keras 3 is to be pruned by a toolkit that knows models of Keras 2 only."""

import keras
import numpy as np
import tensorflow_model_optimization as tfmot

rng = np.random.default_rng(0)
inputs = rng.random((256, 16), dtype="float32")
model = keras.Sequential([keras.layers.Dense(32), keras.layers.Dense(1)])
model = tfmot.sparsity.keras.prune_low_magnitude(model)
model.compile("sgd", "mse")
step = tfmot.sparsity.keras.UpdatePruningStep()
model.fit(inputs, inputs.sum(axis=1), epochs=2, callbacks=[step], verbose=2)
