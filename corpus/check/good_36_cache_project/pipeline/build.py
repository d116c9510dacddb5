"""One function that all scripts use to get their tf.data pipeline."""
import tensorflow as tf

AUTO = tf.data.AUTOTUNE


def build_pipeline(x, y, *, batch_size, transform=None, random_transform=None, training=False, in_memory=True):
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    if transform is not None:
        ds = ds.map(transform, num_parallel_calls=AUTO)
    if in_memory:
        ds = ds.cache()
    if training:
        ds = ds.shuffle(len(x))
    if random_transform is not None:
        ds = ds.map(random_transform, num_parallel_calls=AUTO)
    return ds.batch(batch_size).prefetch(AUTO)
