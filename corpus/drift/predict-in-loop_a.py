# EXPECT cause=predict-in-loop file=train.py line=30
# NOTE toy DQN: in every round model.predict scores the complete, growing memory to choose the hard transitions
import numpy as np
import tensorflow as tf

ROUNDS = 280
PER_ROUND = 24

rng = np.random.default_rng(0)
q_net = tf.keras.Sequential([
    tf.keras.layers.Input((10,)),
    tf.keras.layers.Dense(64, activation="relu"),
    tf.keras.layers.Dense(64, activation="relu"),
    tf.keras.layers.Dense(4),
])
q_net.compile(optimizer=tf.keras.optimizers.Adam(1e-3), loss="huber")

states, targets = [], []


def play(n):
    for _ in range(n):
        s = rng.normal(size=10).astype("float32")
        states.append(s)
        targets.append(np.tanh(s[:4] * 2).astype("float32"))


for rnd in range(ROUNDS):
    play(PER_ROUND)
    q = q_net.predict(np.array(states), verbose=0)
    err = np.abs(q - np.array(targets)).mean(axis=1)
    hard = np.argsort(-err)[:32]
    loss = q_net.train_on_batch(np.array([states[i] for i in hard]), np.array([targets[i] for i in hard]))
    if rnd % 20 == 0:
        print("round", rnd, "memory", len(states), "td error", err.mean(), "loss", float(loss))
