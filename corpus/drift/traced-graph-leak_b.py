# EXPECT cause=traced-graph-leak|retrace-python-args|retrace-shapes file=train.py line=50
# NOTE every batch is padded to its own longest sentence and fed as it is to a tf.function without signature
import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, Model


UPDATES = 4  # per batch


class BagTagger(Model):
    def __init__(self, vocab, tags):
        super().__init__()
        self.emb = layers.Embedding(vocab, 24)
        self.conv = layers.Conv1D(24, 5, padding="same", activation="relu")
        self.out = layers.Dense(tags)

    def call(self, tok):
        return self.out(self.conv(self.emb(tok)))


def sentence_batches(n, rng):
    for _ in range(n):
        k = rng.integers(6, 13)
        lens = rng.integers(5, 260, size=k)
        tok = np.zeros((k, lens.max()), dtype=np.int32)
        for r, l in enumerate(lens):
            tok[r, :l] = rng.integers(1, 900, l)
        yield tok, tok % 7


def main():
    rng = np.random.default_rng(2)
    tagger = BagTagger(900, 7)
    tagger(np.zeros((1, 5), np.int32))
    adam = tf.keras.optimizers.Adam()
    adam.build(tagger.trainable_variables)
    xent = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def step(tok, tag):
        with tf.GradientTape() as t:
            loss = xent(tag, tagger(tok))
        adam.apply_gradients(zip(t.gradient(loss, tagger.trainable_variables), tagger.trainable_variables))
        return loss

    running = 0.0
    for i, (tok, tag) in enumerate(sentence_batches(180, rng)):
        for _ in range(UPDATES):
            running = 0.95 * running + 0.05 * float(step(tf.constant(tok), tf.constant(tag)))
        if i % 10 == 9:
            print("batch", i + 1, "loss", round(running, 4))


main()
