import tensorflow as tf


def _blur(img, size=13):
    sigma = tf.random.uniform((), 0.5, 3.0)
    ax = tf.range(-(size // 2), size // 2 + 1, dtype=tf.float32)
    k = tf.exp(-(ax[:, None] ** 2 + ax[None, :] ** 2) / (2 * sigma ** 2))
    k = (k / tf.reduce_sum(k))[:, :, None, None]
    return tf.nn.depthwise_conv2d(img[None], tf.tile(k, (1, 1, 3, 1)), (1, 1, 1, 1), "SAME")[0]


def distort(img):
    img = tf.image.random_flip_left_right(img)
    for _ in range(2):
        img = _blur(img)
        img = tf.image.random_hue(img, 0.1)
        img = tf.image.random_saturation(img, 0.6, 1.4)
        img = tf.image.random_jpeg_quality(tf.clip_by_value(img, 0.0, 1.0), 60, 95)
    img = tf.image.resize(tf.image.random_crop(img, (60, 60, 3)), (72, 72), method="bicubic")
    return tf.clip_by_value(img + tf.random.normal(tf.shape(img), stddev=0.05), 0.0, 1.0)
