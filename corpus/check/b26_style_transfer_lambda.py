# EXPECT traced-graph-leak line=48
# NOTE tf.function(lambda ...) is made anew in every optimisation step: each one is traced and its graph thrown away
# SEEN ran (rc 0); 15 steps, 15 traces (counted), TensorFlow's retracing warning comes
"""Optimise an image so that its Gram matrices match those of a style picture."""
import numpy as np
import tensorflow as tf

STEPS = 15
tf.random.set_seed(0)


def feature_net():
    inp = tf.keras.Input((48, 48, 3))
    a = tf.keras.layers.Conv2D(8, 3, activation="relu", name="a")(inp)
    b = tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu", name="b")(a)
    net = tf.keras.Model(inp, [a, b])
    net.trainable = False
    return net


def gram(f):
    g = tf.einsum("bijc,bijd->bcd", f, f)
    n = tf.cast(tf.shape(f)[1] * tf.shape(f)[2], tf.float32)
    return g / n


def stripes():
    img = np.zeros((1, 48, 48, 3), dtype="float32")
    img[:, ::4] = 1.0
    return tf.constant(img)


def style_loss(net, image, targets):
    return tf.add_n([tf.reduce_mean((gram(f) - t) ** 2) for f, t in zip(net(image), targets)])


def total_variation(image, weight=1e-4):
    return weight * tf.reduce_sum(tf.image.total_variation(image))


net = feature_net()
targets = [gram(f) for f in net(stripes())]
image = tf.Variable(tf.random.uniform((1, 48, 48, 3)))
opt = tf.keras.optimizers.Adam(0.02)
opt.build([image])

for step in range(1, STEPS + 1):
    loss_fn = tf.function(lambda im: style_loss(net, im, targets) + total_variation(im))
    with tf.GradientTape() as tape:
        loss = loss_fn(image)
    grad = tape.gradient(loss, image)
    opt.apply_gradients([(grad, image)])
    image.assign(tf.clip_by_value(image, 0.0, 1.0))
    if step % 5 == 0:
        print(f"step {step:3d}  loss {float(loss):.5f}")

result = (image[0].numpy() * 255).astype("uint8")
print("done", result.shape, result.mean())
