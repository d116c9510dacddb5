"""All sounds become float32 first, so that one graph of the train step is enough."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
formats = ["uint8", "int16", "int32", "float32", "float64"]
sounds = [rng.integers(0, 128, (32, 64, 8)).astype(kind) for kind in formats * 24]
batches = [tf.constant(sound, tf.float32) for sound in sounds]

inputs = keras.Input((64, 8))
features = keras.layers.Conv1D(16, 3, padding="same", activation="relu")(inputs)
for _ in range(6):
    branch = keras.layers.Conv1D(16, 3, padding="same", activation="relu")(features)
    features = keras.layers.Add()([features, keras.layers.LayerNormalization()(branch)])
outputs = keras.layers.Dense(1)(keras.layers.GlobalAveragePooling1D()(features))
model = keras.Model(inputs, outputs)
optimizer = keras.optimizers.Adam()
optimizer.build(model.trainable_variables)


@tf.function
def train_step(batch):
    sounds = batch / 128.0
    with tf.GradientTape() as tape:
        loud = tf.reduce_mean(sounds, axis=(1, 2))[:, None]
        loss = tf.reduce_mean((loud - model(sounds, training=True)) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


for _ in range(2):
    for batch in batches:
        loss = train_step(batch)
    print(f"loss {loss:.4f}")
