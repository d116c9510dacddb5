import tensorflow as tf


class Agent:
    def __init__(self, shape, actions):
        self.q = tf.keras.Sequential([tf.keras.Input(shape), tf.keras.layers.GlobalAveragePooling1D(),
                                      tf.keras.layers.Dense(32, activation="relu"), tf.keras.layers.Dense(actions)])
        self.opt = tf.keras.optimizers.SGD(1e-2)
        self.actions = actions

    @tf.function
    def learn(self, s, a, r):
        with tf.GradientTape() as tape:
            q = tf.reduce_sum(self.q(s) * tf.one_hot(a, self.actions), 1)
            loss = tf.reduce_mean(tf.square(q - r))
        v = self.q.trainable_variables
        self.opt.apply_gradients(zip(tape.gradient(loss, v), v))
        return loss
