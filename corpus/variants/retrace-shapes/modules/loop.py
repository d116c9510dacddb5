import tensorflow as tf

D = tf.keras.layers.Dense


class Learner:
    def __init__(self):
        self.body = tf.keras.Sequential([tf.keras.Input((3,))] + [D(32, activation="relu") for _ in range(2)])
        self.head = tf.keras.Sequential([tf.keras.Input((32,)), D(16, activation="relu"), D(1)])
        self.vars = self.body.trainable_variables + self.head.trainable_variables
        self.opt = tf.keras.optimizers.SGD(0.01)
        self.opt.build(self.vars)
        self.learn = tf.function(self._learn)

    def _learn(self, points, label):
        with tf.GradientTape() as tape:
            feat = tf.reduce_max(self.body(points), axis=0, keepdims=True)
            loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(label[None], self.head(feat)))
        self.opt.apply_gradients(zip(tape.gradient(loss, self.vars), self.vars))
        return loss
