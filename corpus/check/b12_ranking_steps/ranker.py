import tensorflow as tf


class Ranker(tf.keras.Model):
    def __init__(self, width=32, **kwargs):
        super().__init__(**kwargs)
        self.hidden = tf.keras.layers.Dense(width, activation="relu")
        self.drop = tf.keras.layers.Dropout(0.1)
        self.score = tf.keras.layers.Dense(1)

    def build(self, input_shape):
        self.hidden.build(input_shape)
        self.score.build((None, self.hidden.units))
        self.built = True

    def call(self, inputs, training=False):
        h = self.hidden(inputs)
        h = self.drop(h, training=training)
        return self.score(h)
