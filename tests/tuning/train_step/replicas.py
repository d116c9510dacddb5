"""Steps on two replicas and on one device, side by side: prints how far their weights part.

Run by test_batches.py in a process of its own, since devices are set before TensorFlow starts.
"""

import json
import sys

import numpy as np


def main() -> None:
    import keras
    import tensorflow as tf

    from quickfit.errors import UsageError
    from quickfit.tuning import make_train_step

    two = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(tf.config.list_physical_devices("CPU")[0], two)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(24, 4)).astype("float32"), rng.integers(0, 3, 24)
    spoiled = x.copy()
    spoiled[23, 0] = np.nan  # only the second replica sees it

    def model_and_optimizer(dtype):
        keras.utils.set_random_seed(1)
        first = keras.layers.Dense(8, "relu", kernel_regularizer="l2", dtype=dtype)
        model = keras.Sequential([keras.Input((4,)), first, keras.layers.Dense(3, dtype="float32")])
        return model, keras.optimizers.AdamW(0.01, weight_decay=0.1, global_clipnorm=0.1)

    def parted(batches, *, dtype="float32", compiled=False, **options):
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        alone, own = model_and_optimizer(dtype)
        with strategy.scope():
            shared, theirs = model_and_optimizer(dtype)
            if compiled:
                shared.compile(theirs, loss, auto_scale_loss=False)
        single = make_train_step(alone, loss, own, **options)
        several = make_train_step(shared, *(() if compiled else (loss, theirs)), **options)
        for batch in batches:
            losses = [float(step(*batch)["loss"]) for step in (single, several)]
        pairs = list(zip(alone.get_weights(), shared.get_weights(), strict=True))
        apart = max(float(np.abs(a - b).max()) for a, b in pairs)
        return {
            "weights": apart,
            "loss": abs(losses[0] - losses[1]),
            "skipped": [single.skipped, several.skipped],
        }

    def message(action):
        try:
            action()
        except UsageError as error:
            return str(error)
        return None

    def of_dataset():
        dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(6)
        found = []
        for options in ({}, {"steps_per_call": 3}):
            with strategy.scope():
                model, optimizer = model_and_optimizer("float32")
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            step = make_train_step(model, loss, optimizer, strategy=strategy, **options)
            for logs in step.over(strategy.experimental_distribute_dataset(dataset)):
                found.extend(np.ravel(logs.get("losses", logs["loss"])).tolist())
        return found

    with strategy.scope():
        made = model_and_optimizer("float32")
    stacked = make_train_step(made[0], "mse", made[1], steps_per_call=2)
    weights = np.linspace(0, 1, 24).astype("float32")
    answer = {
        "plain": parted([(x, y)] * 2),
        "uneven": parted([(x[:9], y[:9])] * 2, compiled=True),
        "weighted": parted([(x, y, weights)]),
        "accumulated": parted([(x[:12], y[:12]), (x[12:], y[12:])], accumulate=2),
        "guarded": parted([(x, y), (spoiled, y), (x, y)], guard=True),
        "float16": parted([(x, y), (spoiled, y), (x, y)], dtype="mixed_float16"),
        "dataset": of_dataset(),
        "too few": message(lambda: make_train_step(made[0], "mse", made[1])(x[:1], x[:1, :3])),
        "stacked": message(lambda: stacked(x[None], y[None])),
        "jit": message(lambda: make_train_step(made[0], "mse", made[1], jit=True)),
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
