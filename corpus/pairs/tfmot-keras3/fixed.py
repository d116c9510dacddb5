"""The model is one of Keras 2, as the toolkit needs it."""

import numpy as np
import tensorflow_model_optimization as tfmot
import tf_keras

rng = np.random.default_rng(0)
inputs = rng.random((256, 16), dtype="float32")
model = tf_keras.Sequential([tf_keras.layers.Dense(32), tf_keras.layers.Dense(1)])
model = tfmot.sparsity.keras.prune_low_magnitude(model)
model.compile("sgd", "mse")
step = tfmot.sparsity.keras.UpdatePruningStep()
model.fit(inputs, inputs.sum(axis=1), epochs=2, callbacks=[step], verbose=2)
