# EXPECT none
# NOTE LossScaleOptimizer with scale_loss and apply, in a helper; and a second tape for saliency (gradient of a score with respect to the image, no training) which needs no scaling
# SEEN fine, exit 0; last line: saliency map (12, 12, 1)
import keras
import numpy as np
import tensorflow as tf

keras.mixed_precision.set_global_policy("mixed_float16")


def net():
    i = keras.Input((12, 12, 1))
    h = keras.layers.Conv2D(8, 3, activation="relu")(i)
    h = keras.layers.GlobalAveragePooling2D()(h)
    o = keras.layers.Dense(2, dtype="float32")(h)
    return keras.Model(i, o)


model = net()
optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(1e-2))
optimizer.build(model.trainable_variables)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def scaled_gradients(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
        scaled = optimizer.scale_loss(loss)
    return loss, tape.gradient(scaled, model.trainable_variables)


@tf.function
def train_step(x, y):
    loss, grads = scaled_gradients(x, y)
    optimizer.apply(grads, model.trainable_variables)
    return loss


def saliency(image):
    image = tf.convert_to_tensor(image[None])
    with tf.GradientTape() as tape:
        tape.watch(image)
        score = model(image, training=False)[0, 1]
    return tf.abs(tape.gradient(score, image))[0]


rng = np.random.default_rng(2)
y = rng.integers(0, 2, 128)
x = rng.normal(size=(128, 12, 12, 1)).astype("float32")
x[:, 4:8, 4:8, 0] += y[:, None, None]
ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(128).batch(16)
for epoch in range(3):
    print(epoch, np.mean([float(train_step(a, b)) for a, b in ds]))
print("saliency map", saliency(x[0]).shape)
