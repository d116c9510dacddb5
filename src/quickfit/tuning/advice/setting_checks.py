"""Sees that settings somebody gives can be meant, before anything is started."""

from __future__ import annotations

import operator
from dataclasses import replace
from typing import Any

from quickfit.errors import UsageError
from quickfit.tuning.precision.planning import known_policy
from quickfit.tuning.trials.array_feed import ArrayFeed, as_arrays
from quickfit.tuning.trials.settings import Setting


def checked(setting: Setting) -> Setting:
    """Return a setting whose numbers are plain ones.

    Raises:
        UsageError: a value of it cannot be meant.
    """
    if setting.in_memory is not None:
        raise UsageError(
            f"{setting}: in_memory is no setting to train with; what the input costs is measured"
            " by itself.\nLeave it out."
        )
    if setting.jit is not None and not isinstance(setting.jit, bool):
        raise UsageError(f"Setting(jit={setting.jit!r}): give True or False.")
    policy = None if setting.policy is None else known_policy(setting.policy)
    return replace(
        setting,
        policy=policy,
        batch=_count("batch", setting.batch),
        steps_per_execution=_count("steps_per_execution", setting.steps_per_execution),
        intra_threads=_count("intra_threads", setting.intra_threads),
        inter_threads=_count("inter_threads", setting.inter_threads),
    )


def check_batches(settings: tuple[Setting, ...], data: Any) -> None:  # Any: what `fit` takes
    """See that arrays have as many samples as the batches of settings.

    Raises:
        UsageError: they have fewer.
    """
    if not any(one.batch for one in settings):
        return
    arrays = as_arrays(data) if data is not None else None
    samples = ArrayFeed(arrays, 1).samples if arrays is not None else None
    for one in settings:
        if samples is not None and (one.batch or 0) > samples:
            raise UsageError(
                f"Setting(batch={one.batch}): the data has only {samples:,} samples.\n"
                f"Give a batch of at most {samples:,}."
            )


def _count(name: str, value: Any) -> int | None:  # Any: whatever was given
    if value is None:
        return None
    try:
        count = 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        count = 0
    if count < 1:
        raise UsageError(
            f"Setting({name}={value!r}): give a whole number, 1 or more; None leaves it as it is."
        )
    return count
