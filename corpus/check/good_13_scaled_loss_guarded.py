# EXPECT none
# NOTE the old methods are only used where they exist (hasattr); on Keras 3 the scale_loss/apply branch runs
# SEEN fine, exit 0; last line: 4 0.18428915180265903
import keras
import numpy as np
import tensorflow as tf

keras.mixed_precision.set_global_policy("mixed_float16")


def make_model():
    return keras.Sequential([
        keras.Input((12,)),
        keras.layers.Dense(32, activation="relu"),
        keras.layers.Dense(1, dtype="float32"),
    ])


class Stepper:
    """Works with Keras 2 and Keras 3."""

    def __init__(self, model, optimizer):
        self.model = model
        self.opt = keras.mixed_precision.LossScaleOptimizer(optimizer)
        self.loss_fn = keras.losses.MeanSquaredError()

    @tf.function
    def step(self, x, y):
        variables = self.model.trainable_variables
        with tf.GradientTape() as tape:
            loss = self.loss_fn(y, self.model(x, training=True))
            if hasattr(self.opt, "get_scaled_loss"):
                scaled = self.opt.get_scaled_loss(loss)
            else:
                scaled = self.opt.scale_loss(loss)
        grads = tape.gradient(scaled, variables)
        if hasattr(self.opt, "get_unscaled_gradients"):
            grads = self.opt.get_unscaled_gradients(grads)
        self.opt.apply_gradients(zip(grads, variables))
        return loss


rng = np.random.default_rng(0)
x = rng.normal(size=(256, 12)).astype("float32")
y = x[:, :1] * 2 - x[:, 1:2]
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(256).batch(32)

stepper = Stepper(make_model(), keras.optimizers.Adam(1e-2))
stepper.opt.build(stepper.model.trainable_variables)
for epoch in range(5):
    losses = [float(stepper.step(a, b)) for a, b in ds]
    print(epoch, np.mean(losses))
