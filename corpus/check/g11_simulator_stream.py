# EXPECT none
# NOTE from_generator over a physics simulator: there are no files which TensorFlow could read; the endless generator goes with steps_per_epoch and the validation one ends by itself
# SEEN ran to the end (rc 0), no complaint of its own
"""Learn a pendulum's next state from simulated rollouts."""
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

DT = 0.05


class Pendulum:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def rollout(self, steps):
        angle, speed = self.rng.uniform(-2, 2, 2)
        push = self.rng.uniform(-0.5, 0.5)
        for _ in range(steps):
            before = np.array([np.sin(angle), np.cos(angle), speed, push], dtype="float32")
            speed += DT * (-9.81 * np.sin(angle) + push)
            angle += DT * speed
            after = np.array([np.sin(angle), np.cos(angle), speed], dtype="float32")
            yield before, after - before[:3]


def endless_rollouts(seed):
    sim = Pendulum(seed)
    while True:
        yield from sim.rollout(50)


def fixed_rollouts(seed, count):
    sim = Pendulum(seed)
    for _ in range(count):
        yield from sim.rollout(50)


SIGNATURE = (tf.TensorSpec((4,), tf.float32), tf.TensorSpec((3,), tf.float32))


def stream(gen, *args):
    return (
        tf.data.Dataset.from_generator(gen, args=args, output_signature=SIGNATURE)
        .shuffle(500)
        .batch(50)
        .prefetch(tf.data.AUTOTUNE)
    )


def main():
    keras.utils.set_random_seed(0)
    train = stream(endless_rollouts, 1)
    valid = stream(fixed_rollouts, 2, 10)

    model = keras.Sequential(
        [
            keras.Input((4,)),
            layers.Dense(32, activation="tanh"),
            layers.Dense(32, activation="tanh"),
            layers.Dense(3),
        ]
    )
    model.compile(optimizer="adam", loss="mse")
    model.fit(train, steps_per_epoch=40, epochs=3, validation_data=valid, verbose=2)


if __name__ == "__main__":
    main()
