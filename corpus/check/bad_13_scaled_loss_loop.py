# EXPECT keras3-loss-scale-api line=38
# EXPECT keras3-loss-scale-api line=40
# NOTE Keras 2's LossScaleOptimizer methods in a custom loop: both are gone in Keras 3 (scale_loss / apply)
# SEEN AttributeError: 'LossScaleOptimizer' object has no attribute 'get_scaled_loss' (get_unscaled_gradients checked by hasattr: missing too)
"""Custom loop, adapted from the TF mixed precision guide of 2021."""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers, mixed_precision

mixed_precision.set_global_policy("mixed_float16")

inputs = keras.Input(shape=(64,), name="digits")
x = layers.Dense(128, activation="relu", name="dense_1")(inputs)
x = layers.Dense(128, activation="relu", name="dense_2")(x)
x = layers.Dense(10, name="dense_logits")(x)
outputs = layers.Activation("softmax", dtype="float32", name="predictions")(x)
model = keras.Model(inputs=inputs, outputs=outputs)

optimizer = keras.optimizers.RMSprop()
optimizer = mixed_precision.LossScaleOptimizer(optimizer)

loss_object = tf.keras.losses.SparseCategoricalCrossentropy()

rng = np.random.default_rng(0)
x_train = rng.uniform(size=(256, 64)).astype("float32")
y_train = rng.integers(0, 10, 256)
train_dataset = (
    tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(256).batch(64)
)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        predictions = model(x, training=True)
        loss = loss_object(y, predictions)
        scaled_loss = optimizer.get_scaled_loss(loss)
    scaled_gradients = tape.gradient(scaled_loss, model.trainable_variables)
    gradients = optimizer.get_unscaled_gradients(scaled_gradients)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for epoch in range(2):
    epoch_loss_avg = tf.keras.metrics.Mean()
    for x, y in train_dataset:
        epoch_loss_avg(train_step(x, y))
    print("Epoch {}: loss={}".format(epoch, epoch_loss_avg.result()))
