"""The step is counted in the graph."""

import tensorflow as tf


class Trainer:
    def __init__(self):
        self.step = tf.Variable(0)

    @tf.function
    def train_step(self, x):
        self.step.assign_add(1)
        return x * 2


trainer = Trainer()
for _ in range(10):
    trainer.train_step(tf.ones(3))
print(int(trainer.step))
