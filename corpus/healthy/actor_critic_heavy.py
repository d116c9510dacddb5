"""Actor-critic on a vectorised toy world: rollout and update are one heavy tf.function; log every ten updates."""
import time

import tensorflow as tf
from tensorflow import keras

ENVS, HORIZON, OBS, ACT = 256, 16, 48, 6


def net(out):
    return keras.Sequential([keras.Input((OBS,)), keras.layers.Dense(384, activation="tanh"), keras.layers.Dense(384, activation="tanh"), keras.layers.Dense(out)])


class A2C(tf.Module):
    def __init__(self):
        super().__init__()
        self.pi, self.v = net(ACT), net(1)
        self.params = self.pi.trainable_variables + self.v.trainable_variables
        self.opt = keras.optimizers.Adam(3e-4)
        self.opt.build(self.params)
        self.dyn = tf.constant(tf.random.stateless_normal((OBS + ACT, OBS), (1, 2), stddev=0.15))
        self.state = tf.Variable(tf.random.normal((ENVS, OBS)))

    @tf.function
    def update(self):
        s = tf.convert_to_tensor(self.state)
        states = tf.TensorArray(tf.float32, HORIZON)
        actions = tf.TensorArray(tf.int64, HORIZON)
        rewards = tf.TensorArray(tf.float32, HORIZON)
        for t in tf.range(HORIZON):
            a = tf.random.categorical(self.pi(s), 1)[:, 0]
            states, actions = states.write(t, s), actions.write(t, a)
            s = tf.tanh(tf.matmul(tf.concat([s, tf.one_hot(a, ACT)], 1), self.dyn))
            s = tf.ensure_shape(s, (ENVS, OBS))
            rewards = rewards.write(t, -tf.reduce_mean(tf.abs(s), 1))
        self.state.assign(s)
        ret = tf.scan(lambda acc, r: r + 0.97 * acc, rewards.stack(), reverse=True)
        flat_s = tf.reshape(states.stack(), (-1, OBS))
        flat_a, flat_r = tf.reshape(actions.stack(), (-1,)), tf.reshape(ret, (-1,))
        with tf.GradientTape() as tape:
            value = self.v(flat_s)[:, 0]
            adv = tf.stop_gradient(flat_r - value)
            logp = -tf.nn.sparse_softmax_cross_entropy_with_logits(flat_a, self.pi(flat_s))
            loss = -tf.reduce_mean(adv * logp) + 0.5 * tf.reduce_mean(tf.square(flat_r - value))
        self.opt.apply_gradients(zip(tape.gradient(loss, self.params), self.params))
        return loss


agent = A2C()
t0 = time.perf_counter()
for k in range(200):
    loss = agent.update()
    if k % 10 == 0:
        print(f"update {k} loss {float(loss):.4f}")
print(f"training took {time.perf_counter() - t0:.1f} s")
