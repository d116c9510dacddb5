"""Physics-informed net for the heat equation."""
import numpy as np
import tensorflow as tf

tf.keras.backend.set_floatx("float64")
net = tf.keras.Sequential([tf.keras.layers.Input((2,))] + [tf.keras.layers.Dense(256, activation="tanh") for _ in range(4)] + [tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(1e-3)
rng = np.random.default_rng(0)
pts = tf.constant(rng.random((2000, 2)))
ini = tf.constant(np.column_stack([rng.random(400), np.zeros(400)]))
u0 = tf.sin(np.pi * ini[:, :1])


@tf.function
def step():
    with tf.GradientTape() as outer:
        with tf.GradientTape() as t2:
            t2.watch(pts)
            with tf.GradientTape() as t1:
                t1.watch(pts)
                u = net(pts)
            du = t1.gradient(u, pts)
            ux = du[:, :1]
        uxx = t2.gradient(ux, pts)[:, :1]
        loss = tf.reduce_mean((du[:, 1:] - 0.1 * uxx) ** 2) + tf.reduce_mean((net(ini) - u0) ** 2)
    g = outer.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(g, net.trainable_variables))
    return loss


for it in range(60):
    l = step()
    if it % 20 == 0:
        print(it, float(l))
