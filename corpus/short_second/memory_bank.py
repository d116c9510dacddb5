"""Instance discrimination with a bank of past embeddings as negatives."""
import time
import numpy as np
import tensorflow as tf

DIM = 128
BATCH = 192
STEPS = 220
TEMP = 0.1


class Encoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.c1 = tf.keras.layers.Conv2D(16, 3, strides=2, activation="relu")
        self.c2 = tf.keras.layers.Conv2D(32, 3, strides=2, activation="relu")
        self.pool = tf.keras.layers.GlobalAveragePooling2D()
        self.fc = tf.keras.layers.Dense(DIM)

    def call(self, x):
        return tf.math.l2_normalize(self.fc(self.pool(self.c2(self.c1(x)))), axis=1)


images = np.random.rand(2000, 32, 32, 3).astype("float32")
enc = Encoder()
enc(images[:1])
opt = tf.keras.optimizers.SGD(0.03, momentum=0.9)
opt.build(enc.trainable_variables)
bank = tf.Variable(tf.math.l2_normalize(tf.random.normal((BATCH, DIM)), axis=1),
                   shape=tf.TensorShape([None, DIM]), trainable=False)


@tf.function
def step(x):
    q_in = x + tf.random.normal(tf.shape(x), stddev=0.1)
    with tf.GradientTape() as tape:
        q = enc(q_in)
        k = tf.stop_gradient(enc(x))
        pos = tf.reduce_sum(q * k, axis=1, keepdims=True)
        neg = tf.matmul(q, bank, transpose_b=True)
        logits = tf.concat([pos, neg], axis=1) / TEMP
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.zeros(tf.shape(x)[0], tf.int32), logits=logits))
    grads = tape.gradient(loss, enc.trainable_variables)
    opt.apply_gradients(zip(grads, enc.trainable_variables))
    bank.assign(tf.concat([bank, k], axis=0))
    return loss


t0 = time.time()
for i in range(STEPS):
    idx = np.random.randint(0, len(images), BATCH)
    loss = step(tf.constant(images[idx]))
    if i % 40 == 0:
        print(f"{i:4d} loss {float(loss):.3f}  {time.time() - t0:.1f}s")
