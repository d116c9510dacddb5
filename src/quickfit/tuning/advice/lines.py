"""The exact lines to put into a script so that a setting takes effect."""

from __future__ import annotations

from collections.abc import Iterator

from quickfit.tuning.trials.settings import Setting

_THREADS = "tf.config.threading.set_{}_op_parallelism_threads({})"


def lines_of(setting: Setting) -> tuple[str, ...]:
    """Return lines of Python in the order in which they stand in a script."""
    return tuple(_lines(setting))


def _lines(setting: Setting) -> Iterator[str]:
    for name, count in (("inter", setting.inter_threads), ("intra", setting.intra_threads)):
        if count is not None:
            yield f"{_THREADS.format(name, count)}  # right after the imports"
    if setting.policy is not None:
        yield f'keras.config.set_dtype_policy("{setting.policy}")  # before the model is built'
        yield 'layers.Dense(10, dtype="float32")  # so on your last layer, and on a softmax'
    if setting.batch is not None:
        size = setting.batch
        yield f"dataset = dataset.batch({size})  # with arrays: model.fit(..., batch_size={size})"
    arguments = list(_compile_arguments(setting))
    if arguments:
        yield f"model.compile(..., {', '.join(arguments)})"


def _compile_arguments(setting: Setting) -> Iterator[str]:
    if setting.jit is not None:
        yield f"jit_compile={setting.jit}"
    if setting.steps_per_execution is not None:
        yield f"steps_per_execution={setting.steps_per_execution}"


def remarks_of(setting: Setting, batch: int) -> tuple[str, ...]:
    """Return what whoever takes a setting over should know.

    Args:
        setting: that is taken over.
        batch: samples per step of the training as it is.
    """
    return tuple(_remarks(setting, batch))


def _remarks(setting: Setting, batch: int) -> Iterator[str]:
    if setting.batch is not None:
        factor = setting.batch / batch
        yield (
            f"Batch {setting.batch} takes {factor:g} times fewer steps per epoch. quickfit does"
            f" not change the learning rate; usual is to raise it (up to {factor:g} times with"
            f" SGD, {factor**0.5:.2g} times with Adam) and to look at the validation loss. Where"
            " you give steps_per_epoch, divide it."
        )
    if setting.steps_per_execution is not None:
        yield (
            f"steps_per_execution={setting.steps_per_execution}: callbacks see one batch in"
            f" {setting.steps_per_execution}; losses are the same."
        )
    if setting.jit:
        yield (
            "XLA compiles once for each shape: with batches of changing shape, or a smaller last"
            " one, it compiles again (drop_remainder=True avoids that)."
        )
    if setting.policy == "mixed_float16":
        yield (
            "mixed_float16: model.compile scales the loss by itself; a training loop of your own"
            " must do it (quickfit.tuning.make_train_step does)."
        )
