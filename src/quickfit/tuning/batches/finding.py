"""Entry point of the search for a batch size: from what the user gave to a plan."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from quickfit.capacity import whole_cores
from quickfit.errors import ModelError, UsageError
from quickfit.tuning.batches import telling
from quickfit.tuning.batches.crew import Measurable
from quickfit.tuning.batches.outcome import outcome
from quickfit.tuning.batches.plan import BatchPlan
from quickfit.tuning.batches.question import asked
from quickfit.tuning.batches.room import room
from quickfit.tuning.batches.search import Search
from quickfit.tuning.trials.feeds import kind_of
from quickfit.tuning.trials.recipes import Recipe, by_function, by_model, by_name, by_parts
from quickfit.tuning.trials.scratch import scratch_folder
from quickfit.tuning.trials.settings import Setting
from quickfit.tuning.trials.trial import Trial

# Tells a trial's process that it is one.
INSIDE = "QUICKFIT_BATCH_TRIAL"


def find_batch_size(
    build: Any,  # Any: a function, its name, or a Keras model
    data: Any = None,  # Any: arrays, a Dataset or a PyDataset
    *,
    mode: str = "throughput",
    limit: int | None = None,
    effective: int | None = None,
    sizes: Iterable[int] | None = None,
    budget_s: float = 90,
    memory_limit: int | str | None = None,
    progress: Callable[[str], None] | None = None,
) -> BatchPlan:
    """Measure a model with several batch sizes, in processes of their own, and choose one.

    Ctrl-C ends the search; what was measured until then is returned.

    Args:
        build: a function that returns a compiled model and its data, `build()` or
            `build(batch_size=…)`; or its name, "module:function"; or a compiled model.
        data: where `build` gives only a model: a `tf.data.Dataset` of batches, arrays `(x, y)`, or
            a `PyDataset`.
        mode: "throughput" for the smallest batch within 10 % of the most samples per second;
            "max" for the largest that fits in memory.
        limit: no batch is larger.
        effective: samples per update that you want; larger than what is best in one step, it is
            made of several steps whose gradients are accumulated.
        sizes: the only sizes to try, instead of powers of two.
        budget_s: how long the search may take.
        memory_limit: what a training may hold, in bytes or as "4 GB"; left out, 80 % of what is
            free.
        progress: called with a line of text for each size; left out, it is written to stderr where
            that is a terminal.

    Raises:
        UsageError: an argument is wrong.
        ModelError: the model cannot be built or trained at all.
    """
    question = asked(
        mode=mode,
        limit=limit,
        effective=effective,
        sizes=sizes,
        budget_s=budget_s,
        memory_limit=memory_limit,
    )
    _check_outside()
    tell = telling.to_terminal() if progress is None else progress
    with ExitStack() as stack:
        folder = stack.enter_context(scratch_folder())
        recipe = recipe_of(build, data, folder)
        memory = room(question.memory_limit_bytes)

        def begin(setting: Setting, patience_s: float) -> Measurable:
            growth_bytes = memory.growth_bytes(whole_cores())
            return Trial(
                recipe,
                setting,
                limit_bytes=growth_bytes,
                patience_s=patience_s,
                env={INSIDE: "1"},
            )

        search = Search(
            question,
            begin,
            memory,
            tell=tell,
            keeps_input=recipe.keeps_input,
            data_kind=None if data is None else kind_of(data),
        )
        return outcome(search)


def _check_outside() -> None:
    """See that no trial searches again, which would start trials without end.

    Raises:
        UsageError: this is a trial, which has imported the script that searches.
    """
    if INSIDE in os.environ:
        raise UsageError(
            "find_batch_size is called again while a trial imports your file. Put the call under\n"
            '    if __name__ == "__main__":\n'
            "so that it is not made by an import"
        )


def recipe_of(build: Any, data: Any, folder: Path) -> Recipe:  # Any: the user's
    """Return how a child comes to the model.

    Raises:
        UsageError: it is no model, function or name, or data are missing or given twice.
    """
    if _is_model(build):
        if data is None:
            raise UsageError(
                "find_batch_size(model): the data are missing. Give them beside the model: "
                "find_batch_size(model, dataset), or find_batch_size(model, (x, y))"
            )
        return by_model(build, data, folder)
    if isinstance(build, str):
        if data is not None:
            raise UsageError(
                f"find_batch_size({build!r}, data): a named function returns the model and its "
                "data. Leave out data, and return both"
            )
        return by_name(build, cwd=Path.cwd())
    if not callable(build):
        raise UsageError(
            f"find_batch_size({type(build).__name__}): give a function that returns a compiled "
            "model and its data, its name as 'module:function', or a compiled Keras model"
        )
    return by_function(build) if data is None else _beside(build, data, folder)


def _beside(build: Callable[[], Any], data: Any, folder: Path) -> Recipe:
    model = _built(build)
    try:
        return by_model(model, data, folder)
    except ModelError:  # such as a model class that Keras cannot save; its function can be carried
        return by_parts(build, data, folder)


def _is_model(build: object) -> bool:
    # Where Keras is not loaded, nothing can be a model of it.
    keras = sys.modules.get("keras")
    return keras is not None and isinstance(build, keras.Model)


def _built(build: Callable[[], Any]) -> Any:  # Any: the user's
    model = build()
    if not _is_model(model):
        raise UsageError(
            f"find_batch_size(build, data): build() returned {type(model).__name__}, not a Keras "
            "model. Return the model alone, or return both and leave out data"
        )
    return model
