"""Speed-up, first block: one argument for the buffers of `shuffle` and `prefetch`."""

import tensorflow as tf


def make_batches(files, answers, size, buffer_size=tf.data.AUTOTUNE):
    batches = tf.data.Dataset.from_tensor_slices((files, answers))

    def load(file, answer):
        picture = tf.io.read_file(file)
        picture = tf.io.decode_jpeg(picture, channels=3)
        picture = tf.image.resize(picture, [224, 224])
        picture = tf.image.convert_image_dtype(picture, dtype=tf.float32)
        return picture, answer

    batches = batches.map(load, num_parallel_calls=tf.data.AUTOTUNE)
    batches = batches.shuffle(buffer_size)
    batches = batches.batch(size)
    batches = batches.prefetch(buffer_size)
    return batches


files = [f"data/image_{number}.jpg" for number in range(320)]
answers = [number % 2 for number in range(320)]
for pictures, targets in make_batches(files, answers, 32):
    pass
print("largest value", float(tf.reduce_max(pictures)))
