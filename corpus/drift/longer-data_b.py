# EXPECT none
# NOTE curriculum: the sequence length goes up by schedule from 16 to 160, signature is fixed, nothing else grows
import argparse
import numpy as np
import tensorflow as tf


class TinyAttention(tf.keras.Model):
    def __init__(self, vocab=64, d=48, heads=4):
        super().__init__()
        self.emb = tf.keras.layers.Embedding(vocab, d)
        self.att = tf.keras.layers.MultiHeadAttention(heads, d // heads)
        self.ln = tf.keras.layers.LayerNormalization()
        self.ff = tf.keras.layers.Dense(4 * d, activation="gelu")
        self.back = tf.keras.layers.Dense(d)
        self.head = tf.keras.layers.Dense(vocab)

    def call(self, t, training=False):
        h = self.emb(t)
        h = self.ln(h + self.att(h, h))
        return self.head(h + self.back(self.ff(h)))


def curriculum(total, lo=16, hi=160, stages=10):
    for s in range(total):
        stage = s * stages // total
        yield int(lo + (hi - lo) * stage / (stages - 1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=4000)
    ap.add_argument("--bs", type=int, default=8)
    a = ap.parse_args()

    net = TinyAttention()
    net(tf.zeros((1, 16), tf.int32))
    opt = tf.keras.optimizers.Adam(1e-3)
    opt.build(net.trainable_variables)
    ce = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None, None), tf.int32)])
    def step(src, dst):
        with tf.GradientTape() as tape:
            loss = ce(dst, net(src, training=True))
        opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
        return loss

    rng = np.random.default_rng(1)
    for i, length in enumerate(curriculum(a.steps)):
        src = rng.integers(0, 64, (a.bs, length)).astype("int32")
        loss = step(tf.constant(src), tf.constant(src[:, ::-1].copy()))
        if i % 250 == 0:
            print(f"step {i} length {length} loss {float(loss):.3f}")


if __name__ == "__main__":
    main()
