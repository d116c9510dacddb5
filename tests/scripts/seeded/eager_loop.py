"""A seeded loop of its own without any compiled function: variables and a `GradientTape`."""

import tensorflow as tf

tf.random.set_seed(15)
x = tf.random.normal((200, 6))
y = tf.reduce_sum(x, axis=1, keepdims=True) + tf.random.normal((200, 1), stddev=0.1)
w1 = tf.Variable(tf.random.normal((6, 12), stddev=0.3))
w2 = tf.Variable(tf.random.normal((12, 1), stddev=0.3))
optimizer = tf.keras.optimizers.Adam(0.01)

batches = iter(tf.data.Dataset.from_tensor_slices((x, y)).shuffle(200).repeat().batch(20))
for step in range(150):
    xb, yb = next(batches)
    with tf.GradientTape() as tape:
        hidden = tf.nn.dropout(tf.nn.relu(xb @ w1), 0.2)
        loss = tf.reduce_mean((hidden @ w2 - yb) ** 2)
    gradients = tape.gradient(loss, [w1, w2])
    optimizer.apply_gradients(zip(gradients, [w1, w2], strict=True))
    if step % 5 == 0:
        print(step, float(loss).hex())
for weights in (w1, w2):
    print("weights", float(tf.reduce_sum(tf.cast(weights, tf.float64))).hex())
print("next", float(tf.random.normal(())).hex())
