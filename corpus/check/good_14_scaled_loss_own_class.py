# EXPECT none
# NOTE get_scaled_loss / get_unscaled_gradients are methods of the author's own scaler class, not of a Keras optimizer
# SEEN fine, exit 0; last line: epoch 3: 0.6818
import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.mixed_precision.set_global_policy("mixed_float16")


class StaticScaler:
    """Fixed loss scale around any Keras optimizer."""

    def __init__(self, optimizer, scale=1024.0):
        self.optimizer = optimizer
        self.scale = tf.constant(scale, tf.float32)

    def get_scaled_loss(self, loss):
        return loss * self.scale

    def get_unscaled_gradients(self, grads):
        return [None if g is None else g / tf.cast(self.scale, g.dtype) for g in grads]

    def apply_gradients(self, pairs):
        self.optimizer.apply_gradients(pairs)


model = keras.Sequential([
    keras.Input((10,)),
    keras.layers.Dense(24, activation="relu"),
    keras.layers.Dense(3),
    keras.layers.Activation("softmax", dtype="float32"),
])
optimizer = StaticScaler(keras.optimizers.Adam(5e-3))
optimizer.optimizer.build(model.trainable_variables)
cce = keras.losses.SparseCategoricalCrossentropy()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = cce(y, model(x, training=True))
        scaled = optimizer.get_scaled_loss(loss)
    grads = tape.gradient(scaled, model.trainable_variables)
    grads = optimizer.get_unscaled_gradients(grads)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


rng = np.random.default_rng(1)
x = rng.normal(size=(240, 10)).astype("float32")
y = x[:, :3].argmax(1)
data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(240).batch(24)
for epoch in range(4):
    total = 0.0
    for a, b in data:
        total += float(train_step(a, b))
    print(f"epoch {epoch}: {total / 10:.4f}")
