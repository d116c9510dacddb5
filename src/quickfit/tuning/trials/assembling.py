"""A model and its data, made from the first seed and with one setting."""

from __future__ import annotations

from typing import Any, NamedTuple

from quickfit.errors import ModelError
from quickfit.tuning.trials import boot
from quickfit.tuning.trials.building import Builder, Built
from quickfit.tuning.trials.feeds import Feed, feed_of, in_memory
from quickfit.tuning.trials.orders import Order
from quickfit.tuning.trials.recipes import Kind
from quickfit.tuning.trials.seeds import begin_anew
from quickfit.tuning.trials.settings import Setting


class Assembled(NamedTuple):
    """What a trial trains, and on what."""

    model: Any  # a Keras model; Keras tells no types
    feed: Feed


class Assembler:
    """Makes the same model and data as often as needed.

    Args:
        order: what to build, and with which setting.

    Raises:
        ModelError: the user's function is not there, or cannot be called.
    """

    def __init__(self, order: Order) -> None:
        begin_anew()
        self._order = order
        self._builder = Builder(order)

    def assemble(self, *, keeps_input: bool = False) -> Assembled:
        """Make everything from the first seed.

        Args:
            keeps_input: feed the user's own data even where the setting has them in memory.

        Raises:
            ModelError: what the user's function returned cannot be tried with this setting.
        """
        setting = self._order.setting
        built = self._built(setting)
        boot.check_threads(setting)
        _change_compiling(built.model, setting)
        feed = feed_of(built.data, setting.batch, self._builder.own_batch)
        _require_labels(built.model, feed)
        if setting.in_memory and not keeps_input:
            feed = in_memory(feed)
        return Assembled(built.model, feed)

    def _built(self, setting: Setting) -> Built:
        begin_anew()
        built = self._builder.build(setting.batch)
        return built if setting.policy is None else self._in_policy(built, setting.policy)

    def _in_policy(self, built: Built, policy: str) -> Built:
        import keras

        from quickfit.tuning.precision import apply_precision

        try:
            return Built(apply_precision(built.model, policy), built.data)
        except ModelError:
            if self._order.kind is Kind.MODEL:
                raise
        # A subclassed model takes the policy only while it is made.
        keras.config.set_dtype_policy(policy)
        begin_anew()
        return self._builder.build(self._order.setting.batch)


def _require_labels(model: Any, feed: Feed) -> None:
    import keras

    own = keras.Model
    is_plain = type(model).train_step is own.train_step and (
        type(model).compute_loss is own.compute_loss
    )
    if is_plain and model.loss is not None and not feed.has_labels:
        raise ModelError(
            f"the data are inputs alone, and the loss of the model ({_loss_name(model)}) needs "
            "labels too. Return batches or arrays of (x, y); for an autoencoder, (x, x)."
        )


def _loss_name(model: Any) -> str:
    loss = model.loss
    return loss if isinstance(loss, str) else str(getattr(loss, "name", type(loss).__name__))


def _change_compiling(model: Any, setting: Setting) -> None:
    """Set how the step is compiled; optimizer, losses and metrics stay the objects they are."""
    if setting.jit is not None:
        if setting.jit and model.run_eagerly:
            raise ModelError(
                "the model is compiled with run_eagerly=True, so XLA has nothing to compile. "
                "Remove run_eagerly=True first: it costs more than XLA can gain."
            )
        model.jit_compile = setting.jit
        if bool(model.jit_compile) != setting.jit:
            raise ModelError("a layer of this model does not support XLA (supports_jit=False).")
    if setting.steps_per_execution is not None:
        model.steps_per_execution = setting.steps_per_execution
    model.train_function = None
    model.test_function = None
