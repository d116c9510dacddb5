# EXPECT cause=growing-host-work file=train.py line=38
# NOTE hand-written loop appends all per-sample losses to one array and takes a percentile of all of them each step
import numpy as np
import tensorflow as tf

BATCH, DIM, STEPS = 128, 50, 5500

rs = np.random.RandomState(3)
xs = rs.randn(40000, DIM).astype("float32")
ys = (xs @ rs.randn(DIM, 1) + 0.3 * rs.standard_t(2, size=(40000, 1))).astype("float32")
train = tf.data.Dataset.from_tensor_slices((xs, ys)).shuffle(10000).repeat().batch(BATCH).prefetch(2)

model = tf.keras.Sequential([
    tf.keras.layers.Input((DIM,)),
    tf.keras.layers.Dense(200, activation="relu"),
    tf.keras.layers.Dense(200, activation="relu"),
    tf.keras.layers.Dense(1),
])
opt = tf.keras.optimizers.Adam(1e-3)


@tf.function
def train_step(x, y, clip):
    with tf.GradientTape() as tape:
        per_sample = tf.square(model(x, training=True) - y)[:, 0]
        # robust regression: losses above the clip do not count
        loss = tf.reduce_mean(tf.minimum(per_sample, clip))
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return per_sample


all_losses = np.array([], dtype="float64")
clip = 1e9
for step, (x, y) in enumerate(train.take(STEPS)):
    per_sample = train_step(x, y, tf.constant(clip, tf.float32))
    all_losses = np.append(all_losses, per_sample.numpy())
    clip = np.percentile(all_losses, 95)
    if step % 200 == 0:
        print(f"step {step} mean {per_sample.numpy().mean():.4f} clip {clip:.3f}")
