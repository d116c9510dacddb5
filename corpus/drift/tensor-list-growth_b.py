# EXPECT cause=tensor-list-growth file=train.py line=44
# NOTE researcher keeps the gradient tensors of each step in a dict for a later analysis that uses only the last ones
import argparse
import collections
import tensorflow as tf


def make_problem(n, d, seed):
    g = tf.random.Generator.from_seed(seed)
    x = g.normal((n, d))
    w = g.normal((d, 4))
    return x, tf.argmax(x @ w, axis=1)


def parse():
    p = argparse.ArgumentParser("gradient noise scale")
    p.add_argument("--steps", type=int, default=3500)
    p.add_argument("--hidden", type=int, default=256)
    p.add_argument("--bs", type=int, default=1024)
    return p.parse_args()


def main(a):
    x, y = make_problem(20000, 100, 9)
    it = iter(tf.data.Dataset.from_tensor_slices((x, y)).repeat().shuffle(4000).batch(a.bs, drop_remainder=True).prefetch(2))
    model = tf.keras.Sequential([tf.keras.Input((100,)),
                                 tf.keras.layers.Dense(a.hidden, "swish"),
                                 tf.keras.layers.Dense(a.hidden // 2, "swish"),
                                 tf.keras.layers.Dense(4)])
    opt = tf.keras.optimizers.Adam(3e-4)
    lossfn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def grads_and_loss(xb, yb):
        with tf.GradientTape() as tape:
            l = lossfn(yb, model(xb, training=True))
        g = tape.gradient(l, model.trainable_variables)
        opt.apply_gradients(zip(g, model.trainable_variables))
        return g, l

    book = collections.defaultdict(list)
    for s in range(a.steps):
        g, l = grads_and_loss(*next(it))
        book["grads"].append(g)
        if s >= 50 and s % 200 == 0:
            recent = tf.stack([tf.reshape(t[2], [-1]) for t in book["grads"][-50:]])
            var = tf.reduce_mean(tf.math.reduce_variance(recent, axis=0))
            print(f"{s:6d} loss={float(l):.4f} grad var={float(var):.3e}")


main(parse())
