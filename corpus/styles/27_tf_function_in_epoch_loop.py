# EXPECT: @tf.function train_step is defined again inside the epoch loop, so it is traced anew in every epoch; tracing takes longer than the training steps
# TWIST: none
import os
import numpy as np
import tensorflow as tf
from tensorflow.keras.layers import *
from skimage.data import astronaut, coffee, chelsea

tf.keras.utils.set_random_seed(99)

datafile = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data/27_tf_function_in_epoch_loop/small.npz")
if not os.path.exists(datafile):
    os.makedirs(os.path.dirname(datafile), exist_ok=True)
    gen = np.random.default_rng(1)
    xs, ys = [], []
    for cls, photo in enumerate([astronaut(), coffee(), chelsea()]):
        for _ in range(96):
            i = gen.integers(photo.shape[0] - 128)
            j = gen.integers(photo.shape[1] - 128)
            xs.append(photo[i:i + 128:4, j:j + 128:4])
            ys.append(cls)
    order = gen.permutation(len(xs))
    np.savez(datafile, xs=np.array(xs)[order], ys=np.array(ys)[order])

with np.load(datafile) as npz:
    xs = (npz["xs"] / 255).astype(np.float32)
    ys = npz["ys"]

dataset = tf.data.Dataset.from_tensor_slices((xs, ys)).shuffle(288).batch(24)


def residual(x, filters):
    s = Conv2D(filters, 1, strides=2, use_bias=False)(x)
    x = Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
    x = BatchNormalization()(x)
    x = Activation("relu")(x)
    x = Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = BatchNormalization()(x)
    return Activation("relu")(Add()([x, s]))


inputs = Input((32, 32, 3))
x = inputs
for filters in (8, 8, 12, 16):
    x = residual(x, filters)
x = GlobalAveragePooling2D()(x)
outputs = Dense(3)(x)
model = tf.keras.Model(inputs, outputs)

optimizer = tf.keras.optimizers.Adam(0.002)
optimizer.build(model.trainable_variables)   # otherwise: "tf.function only supports singleton tf.Variables..."
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

epochs = 12
for epoch in range(epochs):
    print("\nStart of epoch %d" % (epoch,))

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss_value = loss_fn(y, logits)
        grads = tape.gradient(loss_value, model.trainable_weights)
        optimizer.apply_gradients(zip(grads, model.trainable_weights))
        return loss_value

    # Iterate over the batches of the dataset.
    for step, (x_batch_train, y_batch_train) in enumerate(dataset):
        loss_value = train_step(x_batch_train, y_batch_train)
        # Log every 6 batches.
        if step % 6 == 0:
            print("Training loss (for one batch) at step %d: %.4f" % (step, float(loss_value)))
            print("Seen so far: %d samples" % ((step + 1) * 24))
