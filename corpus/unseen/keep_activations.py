import collections
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, Model

inputs = layers.Input((48, 48, 1))
a1 = layers.Conv2D(16, 3, activation="relu", padding="same", name="c1")(inputs)
p1 = layers.MaxPool2D()(a1)
a2 = layers.Conv2D(32, 3, activation="relu", padding="same", name="c2")(p1)
g = layers.GlobalAveragePooling2D()(a2)
o = layers.Dense(5)(g)
model = Model(inputs, [o, a2])
optimizer = tf.keras.optimizers.Adam()
lossf = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

X = np.random.rand(2048, 48, 48, 1).astype(np.float32)
Y = np.random.randint(0, 5, 2048)
ds = tf.data.Dataset.from_tensor_slices((X, Y)).batch(64)

seen = collections.defaultdict(list)   # for the sparsity plot


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        logits, act = model(x, training=True)
        l = lossf(y, logits)
    gr = tape.gradient(l, model.trainable_variables)
    optimizer.apply_gradients(zip(gr, model.trainable_variables))
    return l, act


for epoch in range(8):
    for x, y in ds:
        l, act = step(x, y)
        seen[epoch].append(act)
    print("epoch", epoch, "loss", float(l))
spars = [float(tf.reduce_mean(tf.cast(seen[e][0] == 0, tf.float32))) for e in seen]
print(spars)
