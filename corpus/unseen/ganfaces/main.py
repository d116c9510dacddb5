import argparse
import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import tensorflow as tf

import loader
import nets
from config import BATCH, LATENT, SIZE, STEPS

p = argparse.ArgumentParser()
p.add_argument("--data", default=os.path.join(tempfile.gettempdir(), "face_files"))
p.add_argument("--steps", type=int, default=STEPS)
args = p.parse_args()

loader.ensure_faces(args.data)
ds = tf.data.Dataset.from_generator(
    lambda: loader.faces(args.data),
    output_signature=tf.TensorSpec((SIZE, SIZE, 3), tf.float32),
).batch(BATCH).prefetch(2)

G, D = nets.generator(), nets.discriminator()
g_opt, d_opt = tf.keras.optimizers.Adam(2e-4, 0.5), tf.keras.optimizers.Adam(2e-4, 0.5)
bce = tf.keras.losses.BinaryCrossentropy(from_logits=True)


@tf.function
def step(real):
    z = tf.random.normal((tf.shape(real)[0], LATENT))
    with tf.GradientTape() as gt, tf.GradientTape() as dt:
        fake = G(z, training=True)
        r, f = D(real, training=True), D(fake, training=True)
        gl = bce(tf.ones_like(f), f)
        dl = bce(tf.ones_like(r), r) + bce(tf.zeros_like(f), f)
    g_opt.apply_gradients(zip(gt.gradient(gl, G.trainable_variables), G.trainable_variables))
    d_opt.apply_gradients(zip(dt.gradient(dl, D.trainable_variables), D.trainable_variables))
    return gl, dl


for i, real in enumerate(ds.take(args.steps)):
    gl, dl = step(real)
    if i % 20 == 0:
        print(f"{i:4d} g {gl:.3f} d {dl:.3f}", flush=True)
