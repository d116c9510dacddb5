import keras
import numpy as np
from keras import layers

from corpus import zipf_corpus
from sampling import SkipGrams

VOCAB = 15000
DIM = 100
BATCH = 1200
STEPS = 55


def skipgram_model():
    c = keras.Input((), dtype="int32")
    o = keras.Input((), dtype="int32")
    ce = layers.Embedding(VOCAB, DIM)(c)
    oe = layers.Embedding(VOCAB, DIM)(o)
    dot = layers.Dot(axes=1)([ce, oe])
    return keras.Model([c, o], layers.Activation("sigmoid")(dot))


np.random.seed(2)
tokens = zipf_corpus(200_000, VOCAB)
sampler = SkipGrams(tokens, VOCAB)
model = skipgram_model()
model.compile(optimizer="adagrad", loss="binary_crossentropy")

running = 0.0
for step in range(1, STEPS + 1):
    x, y = sampler.batch(BATCH)
    running = 0.95 * running + 0.05 * float(model.train_on_batch(list(x), y))
    if step % 10 == 0:
        print(f"{step}/{STEPS} loss={running:.4f}")
