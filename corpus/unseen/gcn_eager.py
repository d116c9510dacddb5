import numpy as np, tensorflow as tf
from tensorflow.keras import layers

N, F, C = 500, 32, 6
rng = np.random.default_rng(5)
A = (rng.random((N, N)) < 0.02).astype("float32")
A = A + A.T + np.eye(N, dtype="float32")
A = tf.constant(A / A.sum(1, keepdims=True))
X = tf.constant(rng.normal(size=(N, F)).astype("float32"))
y = tf.constant(rng.integers(0, C, N))


class GCN(tf.keras.Model):
    def __init__(self, depth=6):
        super().__init__()
        self.ls = [layers.Dense(32) for _ in range(depth)]
        self.norms = [layers.LayerNormalization() for _ in range(depth)]
        self.out = layers.Dense(C)

    def call(self, x):
        for l, n in zip(self.ls, self.norms):
            x = x + tf.nn.relu(n(l(tf.matmul(A, x)))) if x.shape[-1] == 32 else tf.nn.relu(l(x))
        return self.out(x)


net, opt = GCN(), tf.keras.optimizers.Adam(1e-2)
for epoch in range(220):
    with tf.GradientTape() as tape:
        logits = net(X)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    if epoch % 50 == 0:
        print(epoch, loss.numpy())
