"""`advise_precision`: whether training in 16 bits gains anything on this machine, measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.precision.advice import PrecisionAdvice, advice_of
from quickfit.tuning.precision.hardware import Prospect, prospect_of, read_hardware
from quickfit.tuning.precision.layers import every_layer, policy_name
from quickfit.tuning.precision.measuring import MIN_GAIN, Comparison, Refused, compare
from quickfit.tuning.precision.survey import Reason, survey, survey_speed
from quickfit.tuning.trials.settings import Setting

# Models and data are `Any`: Keras has no types of its own.

Tell = Callable[[str], None]

# One pair on a busy machine may be wrong by much more than a null edit's 0.97. Where the hardware
# has the units, only a clear loss ends the measurement early; where it has none, no gain does.
_CLEAR_LOSS = 0.8


def advise_precision(
    model: Any, data: Any = None, *, measure: bool = True, tell: Tell = lambda text: None
) -> PrecisionAdvice:
    """Say whether training in 16 bits gains anything here, by hardware, model and measurement.

    The measurement trains copies of the model in child processes; the model is not touched.

    Args:
        model: a Keras model, compiled if it is to be measured.
        data: what `fit` would get: a `tf.data.Dataset` of batches, arrays `(x, y)`, a
            `PyDataset`. Without it nothing is measured.
        measure: whether to measure.
        tell: is told what goes on, a line at a time.

    Raises:
        UsageError: the model is none.
        ModelError: the model cannot be carried to other processes, or does not train.
    """
    _require_model(model)
    prospect = prospect_of(read_hardware())
    current = current_policy(model)
    missing = _not_measured(model, data, measure=measure)
    measured = None if missing else _measured(model, data, prospect, current, tell)
    batch = measured.batch if isinstance(measured, Comparison) else None
    findings = [*survey(model, current or prospect.policy)]
    if prospect.is_candidate:
        findings += survey_speed(model, batch)
    return advice_of(prospect, [*missing, *findings], measured, current=current)


def current_policy(model: Any) -> str | None:
    """Return the 16-bit policy that a model has already, of most of its layers that have one."""
    names = [policy_name(layer) for layer in every_layer(model)]
    counted = Counter(name for name in names if "float16" in name)
    return counted.most_common(1)[0][0] if counted else None


def _require_model(model: Any) -> None:
    import keras

    if not isinstance(model, keras.Model):
        raise UsageError(
            f"advise_precision is about a model of Keras 3, and was given a "
            f"{type(model).__module__}.{type(model).__name__}. Give the model and its data: "
            "advise_precision(model, dataset)."
        )


def _not_measured(model: Any, data: Any, *, measure: bool) -> list[Reason]:
    """Say why nothing is measured; nothing where it is."""
    if not measure:
        return [Reason("measured", "not measured: measure=False")]
    if data is None:
        how = "advise_precision(model, dataset)"
        return [Reason("measured", f"not measured: there are no data; {how} measures")]
    if not model.compiled:
        how = 'model.compile(optimizer="adam", loss=...)'
        return [Reason("measured", f"not measured: the model is not compiled; call {how} first")]
    return []


def _measured(
    model: Any, data: Any, prospect: Prospect, current: str | None, tell: Tell
) -> Comparison | Refused:
    from quickfit.tuning.trials.recipes import by_model
    from quickfit.tuning.trials.scratch import scratch_folder
    from quickfit.tuning.trials.trial import Trial

    settings = (Setting(), Setting(policy=prospect.policy))
    if current:
        settings = (Setting(policy="float32"), Setting())
    enough = _CLEAR_LOSS if prospect.is_candidate else MIN_GAIN
    with scratch_folder() as folder:
        recipe = by_model(model, data, folder)
        return compare(lambda one: Trial(recipe, one), settings, enough=enough, tell=tell)
