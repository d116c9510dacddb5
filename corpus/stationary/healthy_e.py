# EXPECT none
# NOTE GradientTape loop in a tf.function, losses kept as floats, progress printed every 100 steps
import time
import numpy as np
import tensorflow as tf

x_all = np.random.rand(30000, 80).astype("float32")
y_all = np.random.randint(0, 6, 30000)
ds = tf.data.Dataset.from_tensor_slices((x_all, y_all)).shuffle(30000).batch(60, drop_remainder=True).prefetch(1)

net = tf.keras.Sequential([tf.keras.Input((80,)), tf.keras.layers.Dense(512, activation="relu"),
                           tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(6)])
opt = tf.keras.optimizers.Adam(1e-4)
scce = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


@tf.function
def one_step(a, b):
    with tf.GradientTape() as tape:
        pred = net(a, training=True)
        l = scce(b, pred)
    g = tape.gradient(l, net.trainable_variables)
    opt.apply_gradients(zip(g, net.trainable_variables))
    return l


loss_list = []
t = time.time()
for ep in range(12):
    for a, b in ds:
        loss_list.append(float(one_step(a, b)))
        if len(loss_list) % 100 == 0:
            print("ep %d step %d loss %.4f  %.1fs" % (ep, len(loss_list), np.mean(loss_list[-100:]), time.time() - t))
print("done, last loss", loss_list[-1])
