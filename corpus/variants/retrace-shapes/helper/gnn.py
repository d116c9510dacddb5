import tensorflow as tf
from tensorflow import keras


class GraphTrainer:
    def __init__(self, features, width=24):
        sizes = [features, width, width]
        self.msg = []
        for a, b in zip(sizes, sizes[1:]):
            d = keras.layers.Dense(b, activation="relu")
            d.build((None, a))
            self.msg.append(d)
        self.readout = keras.layers.Dense(1)
        self.readout.build((None, width))
        self.params = [w for d in self.msg + [self.readout] for w in d.trainable_variables]
        self.opt = keras.optimizers.Adam(2e-3)
        self.opt.build(self.params)

    @tf.function
    def train_graph(self, nodes, adj, y):
        with tf.GradientTape() as tape:
            h = nodes
            for d in self.msg:
                h = d(h + tf.linalg.matmul(adj, h) / (1.0 + tf.reduce_sum(adj, 1, keepdims=True)))
            loss = tf.reduce_mean(tf.square(self.readout(tf.reduce_mean(h, 0, keepdims=True)) - y))
        self.opt.apply_gradients(zip(tape.gradient(loss, self.params), self.params))
        return loss

    def fit(self, graphs):
        mean = keras.metrics.Mean()
        for nodes, adj, y in graphs:
            mean.update_state(self.train_graph(nodes, adj, y))
        print("mean loss", float(mean.result()))
