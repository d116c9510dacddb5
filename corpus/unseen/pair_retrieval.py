"""Retrieval with in-batch negatives."""
import numpy as np
import tensorflow as tf


class Tower(tf.keras.Model):
    def __init__(self, vocab, dim=64):
        super().__init__()
        self.emb = tf.keras.layers.Embedding(vocab, dim)
        self.net = tf.keras.Sequential([tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(512, activation="relu"), tf.keras.layers.Dense(dim)])

    def call(self, ids):
        return self.net(self.emb(ids))


class Fit:
    def __init__(self, users, items):
        self.q, self.k = Tower(users), Tower(items)
        self.opt = tf.keras.optimizers.Adagrad(0.05)

    @tf.function
    def step(self, u, i):
        with tf.GradientTape() as tape:
            s = tf.matmul(self.q(u), self.k(i), transpose_b=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(tf.range(tf.shape(u)[0]), s))
        v = self.q.trainable_variables + self.k.trainable_variables
        self.opt.apply_gradients(zip(tape.gradient(loss, v), v))
        return loss

    @tf.function
    def recall(self, u, i):
        s = tf.matmul(self.q(u), self.k(i), transpose_b=True)
        return tf.reduce_mean(tf.cast(tf.math.in_top_k(tf.range(tf.shape(u)[0]), s, 10), tf.float32))

    def __call__(self, train, test, epochs):
        for e in range(epochs):
            for u, i in train:
                l = self.step(u, i)
            r = np.mean([self.recall(u, i).numpy() for u, i in test])
            print("epoch", e, "loss", float(l), "recall@10", r)


rng = np.random.default_rng(7)
u = rng.integers(0, 3000, 120_000)
i = (u * 7 + rng.integers(0, 40, len(u))) % 5000
pairs = tf.data.Dataset.from_tensor_slices((u, i)).shuffle(20_000).batch(1024, drop_remainder=True).prefetch(2)
Fit(3000, 5000)(pairs.skip(10), pairs.take(10), epochs=1)
