# EXPECT cause=sync-each-step file=ledger.py line=15
# WHY after every step the per-recording losses are pulled out of the tensor one by one as Python floats (in ledger.py, called from the step loop here).
"""Bird calls: species from log-mel patches, hand-written training loop."""
import sys
import time

import keras
import tensorflow as tf

from ledger import SpeciesLedger
from recordings import FRAMES, MELS, SPECIES, make_recordings

STEPS = 430


def make_model():
    return keras.Sequential([
        keras.Input((FRAMES, MELS, 1)),
        keras.layers.Conv2D(12, 3, strides=2, activation="relu"),
        keras.layers.Conv2D(24, 3, strides=2, activation="relu"),
        keras.layers.Flatten(),
        keras.layers.Dense(96, activation="relu"),
        keras.layers.Dense(SPECIES),
    ])


def main():
    calls = make_recordings(STEPS)
    model = make_model()
    optimizer = keras.optimizers.SGD(0.05, momentum=0.9)
    optimizer.build(model.trainable_variables)
    ledger = SpeciesLedger(SPECIES)

    @tf.function
    def train_step(patches, species):
        with tf.GradientTape() as tape:
            logits = model(patches, training=True)
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(species, logits)
            loss = tf.reduce_mean(each)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss, each

    start = time.perf_counter()
    for step, (patches, species) in enumerate(calls, 1):
        loss, each = train_step(patches, species)
        ledger.enter(species, each)
        if step % 100 == 0:
            print(step, float(loss), ledger.hardest())
            ledger.clear()
    print(f"training seconds {time.perf_counter() - start:.2f}", file=sys.stderr)


if __name__ == "__main__":
    main()
