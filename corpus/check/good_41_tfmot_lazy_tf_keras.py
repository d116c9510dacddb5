# EXPECT none
# NOTE tf.keras is lazy: importing tfmot sets TF_USE_LEGACY_KERAS=1 before the first use of tf.keras, so tf.keras is tf_keras here and pruning works
# SEEN fine with tfmot 0.8.1 + tf_keras 2.21 on the path (private folder), assertion that tf.keras is tf_keras holds
"""Prune a small classifier (pip install tf_keras tensorflow-model-optimization)."""
import numpy as np
import tensorflow as tf
import tensorflow_model_optimization as tfmot

BATCH = 32
EPOCHS = 2


def data(n=512):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 20)).astype("float32")
    y = (x[:, :5].sum(1) > 0).astype("int32")
    return x, y


def base_model():
    model = tf.keras.Sequential([
        tf.keras.layers.InputLayer(input_shape=(20,)),
        tf.keras.layers.Dense(64, activation="relu"),
        tf.keras.layers.Dense(2, activation="softmax"),
    ])
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


assert tf.keras.Model.__module__.startswith("tf_keras"), tf.keras.Model.__module__

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
zeros = float(np.mean(final.layers[0].get_weights()[0] == 0))
print("share of zero weights", zeros)
