"""Before every step, Python replays the moves of each game in the batch, cell by cell."""

import keras
import numpy as np
import tensorflow as tf

keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
games = rng.integers(0, 81, (4096, 1000))
results = rng.integers(0, 2, (4096, 1)).astype("float32")

model = keras.Sequential(
    [
        keras.Input((9, 9)),
        keras.layers.Flatten(),
        keras.layers.Dense(512, activation="relu"),
        keras.layers.Dense(512, activation="relu"),
        keras.layers.Dense(1),
    ]
)
optimizer = keras.optimizers.Adam()
loss_of = keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def train_step(boards, winners):
    with tf.GradientTape() as tape:
        loss = loss_of(winners, model(boards, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


def play(moves):
    board = [0.0] * 81
    for turn, cell in enumerate(moves):
        board[cell] = 1.0 if turn % 2 else -1.0
    return board


for _ in range(14):
    for first in range(0, 4096, 256):
        boards = [play(moves) for moves in games[first : first + 256]]
        inputs = tf.reshape(tf.constant(boards), (256, 9, 9))
        loss = train_step(inputs, results[first : first + 256])
    print(f"loss {loss:.3f}")
