# EXPECT: the loop tokenises and pads the raw lines in pure Python for every batch again, then np.array -> tf.convert_to_tensor each step, feeding a tf.function
# TWIST: none
"""
bag-of-embeddings classifier for support tickets ("billing" or "technical")
"""
import os
import re
import random

import numpy as np
import tensorflow as tf

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "24_text_sentiment_steps", "tickets.tsv")
MAXLEN = 300
BATCH = 32
EPOCHS = 26


def write_tickets():
    os.makedirs(os.path.dirname(PATH), exist_ok=True)
    r = random.Random(2)
    common = "the a my I we you please help with is was not can could today again since yesterday very still and but when after".split()
    vocab = {"billing": "invoice charged refund card payment twice amount bank subscription price receipt tax".split(),
             "technical": "error crash login screen update server slow timeout install driver cable restart".split()}
    with open(PATH, "w") as out:
        for _ in range(5000):
            kind = r.choice(list(vocab))
            words = [r.choice(vocab[kind]) if r.random() < 0.05 else r.choice(common + vocab["billing"] + vocab["technical"]) for _ in range(r.randint(180, 340))]
            out.write(kind + "\t" + " ".join(words).capitalize() + ".\n")


if not os.path.exists(PATH):
    write_tickets()

lines = open(PATH).read().splitlines()
token_re = re.compile(r"[a-z']+")

# vocabulary
counts = {}
for line in lines:
    for w in token_re.findall(line.split("\t")[1].lower()):
        counts[w] = counts.get(w, 0) + 1
word_index = {w: i + 2 for i, w in enumerate(sorted(counts, key=lambda w: (-counts[w], w)))}
print("vocabulary size", len(word_index))


def encode(text):
    ids = []
    for w in token_re.findall(text.lower()):
        ids.append(word_index.get(w, 1))
    ids = ids[:MAXLEN]
    while len(ids) < MAXLEN:
        ids.append(0)
    return ids


tf.keras.utils.set_random_seed(11)
model = tf.keras.Sequential([
    tf.keras.layers.Input((MAXLEN,), dtype="int32"),
    tf.keras.layers.Embedding(len(word_index) + 2, 8),
    tf.keras.layers.GlobalAveragePooling1D(),
    tf.keras.layers.Dense(8, activation="relu"),
    tf.keras.layers.Dense(1),
])
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam(0.003)


@tf.function(input_signature=[tf.TensorSpec((None, MAXLEN), tf.int32), tf.TensorSpec((None, 1), tf.float32)])
def step(ids, target):
    with tf.GradientTape() as tape:
        loss = bce(target, model(ids, training=True))
    g = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(g, model.trainable_variables))
    return loss


for epoch in range(EPOCHS):
    random.shuffle(lines)
    losses = []
    for i in range(0, len(lines), BATCH):
        chunk = [l.split("\t") for l in lines[i:i + BATCH]]
        x = tf.convert_to_tensor(np.array([encode(text) for _, text in chunk]), dtype=tf.int32)
        y = tf.convert_to_tensor([[1.0 if kind == "billing" else 0.0] for kind, _ in chunk], dtype=tf.float32)
        losses.append(step(x, y))
    print("epoch %d: loss %.4f" % (epoch + 1, np.mean([l.numpy() for l in losses])))
