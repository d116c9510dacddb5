"""What is tuned and what to try, checked before anything is started."""

from __future__ import annotations

import difflib
import importlib.util
import math
import operator
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quickfit.errors import ModelError, UsageError
from quickfit.tuning.advice.candidates import CHANGE_KINDS
from quickfit.tuning.advice.change_table import ChangeKind
from quickfit.tuning.precision.policies import known_policy
from quickfit.tuning.trials.feeds import ArrayFeed, as_arrays
from quickfit.tuning.trials.saving import recipe_by_function, recipe_by_model, recipe_by_name
from quickfit.tuning.trials.settings import Setting, TrialRecipe

_WAYS = (
    "Give one of these:\n"
    "    advise(model, data)          a compiled model and its data\n"
    "    advise(build)                a function that returns both: return model, data\n"
    '    advise("train:build")        such a function in train.py, by name'
)


def recipe_for_target(target: Any, data: Any, folder: Path) -> TrialRecipe:
    """Return how a child comes to what is tuned.

    Args:
        target: a name, a function, or a compiled model.
        data: of the model.
        folder: an empty one, for a model that has to be saved.

    Raises:
        UsageError: it is nothing of these.
        ModelError: it cannot be carried to another process, or TensorFlow is missing.
    """
    check_tensorflow()
    if is_model(target):
        return _model_recipe(target, data, folder)
    if not isinstance(target, str) and not callable(target):
        raise UsageError(f"advise: {_target_type(target)} cannot be trained.\n{_WAYS}")
    if data is not None:
        raise UsageError(
            f"advise: {_target_label(target)} was given with data beside it. A function returns "
            "both:\n"
            "    def build():\n        return model, data"
        )
    if isinstance(target, str):
        name = module_name(target)
        return recipe_by_name(name, cwd=Path.cwd())
    return recipe_by_function(target)


def check_tensorflow() -> None:
    """Make sure that children will find TensorFlow.

    Raises:
        ModelError: it is not installed.
    """
    for name in ("tensorflow", "keras"):
        if name not in sys.modules and importlib.util.find_spec(name) is None:
            raise ModelError(
                f"tune: {name} is not installed for {sys.executable}, and nothing can be trained"
                " without it.\nInstall it: pip install 'quickfit[cpu]', or 'quickfit[gpu]' for a"
                " GPU"
            )


def is_model(target: Any) -> bool:
    """Tell whether something is a Keras model, which may be called like a function."""
    return not isinstance(target, type) and all(
        hasattr(target, name) for name in ("fit", "compile", "get_weights")
    )


def module_name(target: str) -> str:
    """Return `module:function` of what names a file: `src/train.py:build`.

    The folder of the file is then searched first, as it is when Python runs the file.

    Raises:
        UsageError: there is no such file.
    """
    place, colon, function = target.rpartition(":")
    if colon and "/" in place and not place.endswith(".py"):
        raise UsageError(_path_error(target, place, function))
    if not colon or not place.endswith(".py"):
        return target
    file = Path(place)
    if not file.is_file():
        raise UsageError(
            f"{target}: there is no file {place} in {Path.cwd()}.\n"
            "Name it from this folder, or go to its folder first."
        )
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # children search where this process does
    return f"{file.stem}:{function}"


def _path_error(target: str, place: str, function: str) -> str:
    """Return what to say of a path where a module is expected."""
    text = f"{target} does not name a function: a module has dots, and a file ends with .py."
    if Path(f"{place}.py").is_file():
        return f"{text}\nName the file:\n    {place}.py:{function}"
    return f"{text}\nThere is no file {place}.py in {Path.cwd()}."


def own_setting(target: Any) -> Setting:
    """Return what a model has been compiled with; nothing is known of what is no model yet."""
    if not is_model(target):
        return Setting()
    return Setting(
        jit=bool(getattr(target, "jit_compile", False)),
        steps_per_execution=int(getattr(target, "steps_per_execution", None) or 1),
        policy=getattr(getattr(target, "dtype_policy", None), "name", None),
    )


def target_name(target: Any) -> str:
    """Return what to call it in a report."""
    if isinstance(target, str):
        return target
    if is_model(target):
        return str(getattr(target, "name", "the model"))
    return str(getattr(target, "__qualname__", type(target).__name__))


def _model_recipe(model: Any, data: Any, folder: Path) -> TrialRecipe:
    if data is None:
        raise UsageError(
            "advise: the model was given without data.\n"
            "Give what `fit` gets: advise(model, dataset), or advise(model, (x, y))"
        )
    if not getattr(model, "compiled", True):
        raise ModelError(
            f"advise: the model {target_name(model)!r} is not compiled, so nothing says how it is"
            " trained.\nCompile it first, as for `fit`:\n"
            '    model.compile("adam", loss="sparse_categorical_crossentropy")'
        )
    return recipe_by_model(model, data, folder)


def _target_label(target: str | Callable[..., Any]) -> str:
    return repr(target) if isinstance(target, str) else f"the function {target_name(target)}"


def _target_type(target: Any) -> str:
    if target is None:
        return "None"
    name = type(target).__name__
    text = f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
    return f"{text} ({target!r:.60})"


# Nothing can be started and measured three times in less.
MIN_BUDGET_S = 10.0


@dataclass(frozen=True)
class AdviceWishes:
    """What to try.

    Args:
        kinds: of changes.
        forced: kinds that are tried although the machine speaks against them.
        settings: given one by one, to be tried beside these kinds.
    """

    kinds: frozenset[ChangeKind] = frozenset(CHANGE_KINDS)
    forced: frozenset[ChangeKind] = frozenset()
    settings: tuple[Setting, ...] = ()


def read_wishes(settings: Iterable[Any] | None) -> AdviceWishes:
    """Return what a list of names and settings asks for; what is named is tried in any case.

    Raises:
        UsageError: something in it is neither, or a setting that cannot be meant.
    """
    if settings is None:
        return AdviceWishes()
    given = [settings] if isinstance(settings, str | Setting) else list(settings)
    kinds = frozenset(change_kind_named(str(one)) for one in given if not isinstance(one, Setting))
    single = tuple(
        check_setting(one) for one in given if isinstance(one, Setting) and not one.is_as_it_was
    )
    if not kinds and not single:
        raise UsageError(f"advise: settings is empty. Name what to try: {_kind_names()}.")
    return AdviceWishes(kinds, kinds, single)


def change_kind_named(name: str) -> ChangeKind:
    """Return the kind that a word names.

    Raises:
        UsageError: there is none.
    """
    found = [kind for kind in CHANGE_KINDS if kind.value == name.strip().lower()]
    if found:
        return found[0]
    near = difflib.get_close_matches(name, [kind.value for kind in CHANGE_KINDS], n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise UsageError(f"{name!r} is nothing that can be tried.{hint}\nThere is: {_kind_names()}.")


def check_numbers(budget_s: float, steps_left: int | None) -> None:
    """See that a budget and a number of steps can be meant.

    Raises:
        UsageError: they cannot.
    """
    if not math.isfinite(budget_s):
        raise UsageError(
            f"A budget of {budget_s:g} s is no length of time.\n"
            "A small model needs about two minutes: --budget 3m (in Python: budget_s=180)"
        )
    if budget_s < MIN_BUDGET_S:
        raise UsageError(
            f"A budget of {budget_s:g} s is too small: processes are started and measured several"
            " times.\nA small model needs about two minutes: --budget 3m (in Python:"
            " budget_s=180)"
        )
    if steps_left is not None and steps_left < 1:
        raise UsageError(
            f"{steps_left} steps left: nothing is left to train, so nothing can pay.\n"
            "Give the number of steps still to come, or leave it out."
        )


def _kind_names() -> str:
    return ", ".join(kind.value for kind in CHANGE_KINDS)


def check_setting(setting: Setting) -> Setting:
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
        batch=_check_count("batch", setting.batch),
        steps_per_execution=_check_count("steps_per_execution", setting.steps_per_execution),
        intra_threads=_check_count("intra_threads", setting.intra_threads),
        inter_threads=_check_count("inter_threads", setting.inter_threads),
    )


def check_batch_settings(settings: tuple[Setting, ...], data: Any) -> None:  # Any: what `fit` takes
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


def _check_count(name: str, value: Any) -> int | None:  # Any: whatever was given
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


_STEP_S = 30


def budget_words(seconds: float, *, is_command: bool) -> str:
    """Return how to ask for a budget, rounded up: on the command line, or in Python."""
    rounded = math.ceil(seconds / _STEP_S) * _STEP_S
    if not is_command:
        return f"budget_s={rounded}"
    return f"--budget {rounded // 60}m" if rounded % 60 == 0 else f"--budget {rounded}s"


def input_hint(target: Any) -> str:  # Any: what `advise` takes
    """Return how to find out where the time of the input goes."""
    file = _file_of(target) if isinstance(target, str) else None
    if file is None:
        return "`quickfit.data.measure(dataset)` in Python says where its time goes."
    return (
        f"`quickfit bench {file}:FUNCTION` says where its time goes, with a FUNCTION that returns"
        " the dataset alone; in Python, `quickfit.data.measure(dataset)`."
    )


def _file_of(target: str) -> str | None:
    """Return the file of `module:function`, as it is named from here; None where it is not."""
    place = target.rpartition(":")[0]
    name = place if place.endswith(".py") else f"{place.replace('.', '/')}.py"
    return name if Path(name).is_file() else None
