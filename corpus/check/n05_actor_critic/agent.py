from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf
from keras import layers


@dataclass
class AgentConfig:
    gamma: float = 0.98
    lr: float = 3e-3
    hidden: int = 32
    value_weight: float = 0.5
    entropy_weight: float = 0.01
    clip: float = 0.5


def network(obs_size, n_actions, hidden):
    inp = keras.Input((obs_size,))
    h = layers.Dense(hidden, activation="tanh")(inp)
    h = layers.Dense(hidden, activation="tanh")(h)
    logits = layers.Dense(n_actions, name="policy")(h)
    value = layers.Dense(1, name="value")(h)
    return keras.Model(inp, [logits, value])


class A2C:
    def __init__(self, obs_size, n_actions, cfg: AgentConfig):
        self.cfg = cfg
        self.n_actions = n_actions
        self.net = network(obs_size, n_actions, cfg.hidden)
        self.opt = keras.optimizers.Adam(cfg.lr, clipnorm=cfg.clip)
        self.opt.build(self.net.trainable_variables)
        self.loss = keras.metrics.Mean()

    @tf.function(reduce_retracing=True)
    def _sample(self, obs):
        logits, _ = self.net(obs, training=False)
        return tf.random.categorical(logits, 1, dtype=tf.int32)[:, 0]

    @tf.function(reduce_retracing=True)
    def _learn(self, obs, actions, returns):
        with tf.GradientTape() as tape:
            logits, value = self.net(obs, training=True)
            advantage = returns - value[:, 0]
            ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=actions, logits=logits)
            probs = tf.nn.softmax(logits)
            entropy = -tf.reduce_sum(probs * tf.nn.log_softmax(logits), axis=1)
            policy_loss = tf.reduce_mean(ce * tf.stop_gradient(advantage))
            value_loss = tf.reduce_mean(tf.square(advantage))
            loss = (
                policy_loss
                + self.cfg.value_weight * value_loss
                - self.cfg.entropy_weight * tf.reduce_mean(entropy)
            )
        grads = tape.gradient(loss, self.net.trainable_variables)
        self.opt.apply_gradients(zip(grads, self.net.trainable_variables))
        self.loss.update_state(loss)

    def act(self, obs):
        return self._sample(tf.constant(obs)).numpy()

    def greedy(self, obs):
        logits, _ = self.net(tf.constant(obs), training=False)
        return np.argmax(logits, axis=1)

    def values(self, obs):
        return self.net(tf.constant(obs), training=False)[1].numpy()[:, 0]

    def update(self, obs, actions, returns):
        self._learn(
            tf.constant(obs.reshape(-1, obs.shape[-1])),
            tf.constant(actions.reshape(-1)),
            tf.constant(returns.reshape(-1)),
        )

    def read_loss(self):
        value = float(self.loss.result())
        self.loss.reset_state()
        return value

    def save_weights(self, path):
        self.net.save_weights(path)
