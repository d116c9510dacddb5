"""All games are replayed once, before the training."""

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


all_boards = np.array([play(moves) for moves in games], "float32").reshape(-1, 9, 9)
for _ in range(14):
    for first in range(0, 4096, 256):
        loss = train_step(all_boards[first : first + 256], results[first : first + 256])
    print(f"loss {loss:.3f}")
