import gc

import keras


def fresh_start(seed):
    """Forget everything of the last run."""
    keras.utils.clear_session()
    gc.collect()
    keras.utils.set_random_seed(seed)
