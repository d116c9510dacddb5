# sequence tagging, own training loop (ported from the lab's old PyTorch code)
import numpy as np
import tensorflow as tf
import keras

rng = np.random.default_rng(3)
keras.utils.set_random_seed(3)

VOCAB, TAGS, DIM = 2000, 9, 48


def corpus(n):
    sents = []
    for _ in range(n):
        length = int(rng.integers(6, 70))
        w = rng.integers(1, VOCAB, length)
        sents.append((w, w % TAGS))
    return sents


def collate(batch):
    longest = max(len(w) for w, _ in batch)
    x = np.zeros((len(batch), longest), "int32")
    y = np.zeros((len(batch), longest), "int32")
    for i, (w, t) in enumerate(batch):
        x[i, :len(w)] = w
        y[i, :len(t)] = t
    return x, y


def loader(data, batch_size):
    order = sorted(range(len(data)), key=lambda i: len(data[i][0]))
    starts = np.arange(0, len(data), batch_size)
    rng.shuffle(starts)
    for s in starts:
        yield collate([data[i] for i in order[s:s + batch_size]])


class Tagger(keras.Model):
    def __init__(self):
        super().__init__()
        self.emb = keras.layers.Embedding(VOCAB, DIM)
        self.drop = keras.layers.Dropout(0.1)
        self.rnn = keras.layers.LSTM(48, return_sequences=True)
        self.out = keras.layers.Dense(TAGS)

    def call(self, x, training=False):
        return self.out(self.rnn(self.drop(self.emb(x), training=training)))


model = Tagger()
optimizer = keras.optimizers.Adam(3e-3)
model(np.zeros((2, 5), "int32"))
optimizer.build(model.trainable_variables)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        mask = tf.cast(x > 0, tf.float32)
        ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
        loss = tf.reduce_sum(ce * mask) / tf.reduce_sum(mask)
    grads = tape.gradient(loss, model.trainable_variables)
    grads, _ = tf.clip_by_global_norm(grads, 5.0)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


data = corpus(320)
for epoch in range(2):
    total, n = 0.0, 0
    for x, y in loader(data, 16):
        total += float(train_step(x, y))
        n += 1
    print(f"epoch {epoch} loss {total / n:.4f}")
