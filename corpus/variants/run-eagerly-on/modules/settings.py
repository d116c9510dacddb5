import tensorflow as tf

SEED = 7
DEBUG = True


def apply():
    tf.keras.utils.set_random_seed(SEED)
    if DEBUG:
        tf.config.run_functions_eagerly(True)
