import argparse
import numpy as np
import tensorflow as tf
import keras

p = argparse.ArgumentParser()
p.add_argument('--steps', type=int, default=7)
p.add_argument('--people', type=int, default=8)
p.add_argument('--shots', type=int, default=4)
p.add_argument('--margin', type=float, default=0.3)
args = p.parse_args()

keras.utils.set_random_seed(0)

encoder = keras.Sequential([
    keras.Input((48, 48, 1)),
    keras.layers.Conv2D(16, 3, strides=2, activation='relu'),
    keras.layers.Conv2D(32, 3, strides=2, activation='relu'),
    keras.layers.Flatten(),
    keras.layers.Dense(64),
    keras.layers.UnitNormalization(),
])
opt = keras.optimizers.Adam(1e-3)

prototypes = np.random.rand(200, 48, 48, 1).astype('float32')


def sample_batch():
    who = np.random.choice(200, args.people, replace=False)
    x = np.repeat(prototypes[who], args.shots, axis=0)
    x = x + np.random.normal(0, .2, x.shape).astype('float32')
    return x, np.repeat(np.arange(args.people), args.shots)


def hard_triplet_loss(emb, ids):
    losses = []
    n = len(ids)
    for a in range(n):
        hardest_pos = tf.constant(0.)
        hardest_neg = tf.constant(10.)
        for b in range(n):
            if a == b:
                continue
            d = tf.reduce_sum(tf.square(emb[a] - emb[b]))
            if ids[a] == ids[b]:
                hardest_pos = tf.maximum(hardest_pos, d)
            else:
                hardest_neg = tf.minimum(hardest_neg, d)
        losses.append(tf.nn.relu(hardest_pos - hardest_neg + args.margin))
    return tf.add_n(losses) / n


for step in range(args.steps):
    x, ids = sample_batch()
    with tf.GradientTape() as tape:
        emb = encoder(x, training=True)
        loss = hard_triplet_loss(emb, ids)
    grads = tape.gradient(loss, encoder.trainable_variables)
    opt.apply_gradients(zip(grads, encoder.trainable_variables))
    print(f'step {step:3d}  loss {float(loss):.4f}', flush=True)
