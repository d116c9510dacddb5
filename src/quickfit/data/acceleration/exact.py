"""What may be done to a chain in the middle of a run: the same elements, order, traces and seeds.

Nothing is iterated, no function is traced and no seed is drawn: `quickfit run --turbo` uses the
result in some passes and the script's own dataset in others.

- What gives the same elements in every pass is kept in memory.
- A reshuffling `shuffle` in front of pure maps is moved behind them: which element comes when does
  not depend on what is in it. Then what the maps make can be kept.

Whole batches (`rewrites.whole_batches`) would be traced anew, and a parallel interleave may give
another order than the one of the script, so both are left to `accelerate`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from quickfit.data.acceleration.rewrites import is_pure_chain
from quickfit.data.acceleration.stages import Realizer, Stage, all_stages, read_stages
from quickfit.data.graph import Dataset
from quickfit.data.traced_functions import function_operations

_MAPS = ("map", "parallelmap")
_FILES = ("tfrecord", "textline", "fixedlengthrecord")
_WORK = (*_MAPS, *_FILES, "filter", "interleave", "parallelinterleave", "flatmap")
# A function of one element may be moved across these: they do not look into elements.
_BLIND = ("prefetch", "options", "repeat")
_BUFFERS = ("prefetch", "options")


@dataclass
class ExactRewrite:
    """What became of a chain.

    Args:
        stage: the stage of the script that it is about.
        what: what was done, in words; where the chain is left alone, what it is about.
        dataset: gives the same elements in the same order; None: the chain is left alone.
        reason: why it is left alone.
        cause: the cause whose edit does the same.
        kept: the part of the chain whose elements are kept in memory.
        per_step: how many of the kept elements one element of the whole chain is made of.
        files: what the kept part reads.
        origins: of every dataset that was made, the one of the script it stands for.
    """

    stage: Stage
    what: str
    dataset: Dataset = None
    reason: str = ""
    cause: str = ""
    kept: Dataset = None
    per_step: int = 1
    files: tuple[str, ...] = ()
    origins: list[tuple[Dataset, Dataset]] = field(default_factory=list)


def ends_unseen(dataset: Dataset) -> bool:
    """Tell whether the end of a pass does nothing that a script could see."""
    return all(stage.traits.is_runnable for stage in all_stages(read_stages(dataset)))


def keep_in_memory(dataset: Dataset) -> ExactRewrite:
    """Return the chain with all that is the same in every pass kept in memory."""
    chain = list(_unary_chain(read_stages(dataset)))[::-1]
    if dataset.options().deterministic is False:
        return _leave(chain[-1], "its order is not fixed")
    count = next((n for n, one in enumerate(chain) if not _is_repeatable(one, n)), len(chain))
    if count == 0:
        hindrance = next(one for one in all_stages(chain[0]) if _why_not_pure(one))
        return _leave(hindrance, _why_not_pure(hindrance))
    lifted = _maps_behind_shuffle(chain[count:])
    while not lifted and count > 1 and chain[count - 1].kind in _BUFFERS:
        count -= 1  # what only buffers is worth nothing in front of a cache
    kept = chain[count - 1]
    for stage in lifted:
        kept = replace(stage, inputs=(kept,))
    rest = [one for one in chain[count:] if not any(one is other for other in lifted)]
    worker = _last_work(kept)
    if worker is None:
        impure = [one for one in rest if one.kind not in ("shuffle", "repeat")]
        hindrance = next((one for one in impure if _why_not_pure(one)), kept)
        return _leave(hindrance, _why_not_pure(hindrance) or "its elements are in memory already")
    for stage in rest:
        why = _why_not_behind_cache(stage)
        if why:
            return _leave(stage, why)
    files = _files_read(kept)
    if files is None:
        return _leave(worker, "it reads files whose names are not known")
    top = Stage("cache", None, (kept,), lambda inputs: inputs[0].cache(), change="cache")
    for stage in rest:
        top = replace(stage, inputs=(top,))
    moved = " and `shuffle` moved behind it" if lifted else ""
    result = ExactRewrite(worker, f"what `{worker.label}` gives kept in memory{moved}")
    result.cause, result.files = "missing-cache", files
    realizer = Realizer(is_fresh=False)
    result.dataset, result.kept = realizer.realize(top), realizer.realize(kept)
    for stage in all_stages(top):
        made = realizer.realize(stage)
        if made is not stage.dataset:
            result.origins.append((made, stage.dataset or worker.dataset))
    for stage in rest:
        if stage.kind == "batch":
            result.per_step *= int(stage.dataset._batch_size)
    return result


def _leave(stage: Stage, reason: str) -> ExactRewrite:
    return ExactRewrite(stage, f"`{stage.label}`", reason=reason)


def _unary_chain(stage: Stage) -> Iterator[Stage]:
    """Yield a stage and those before it, as far as there is one input each."""
    while len(stage.inputs) == 1 and stage.kind not in _FILES:
        yield stage
        stage = stage.source
    yield stage


def _is_repeatable(stage: Stage, number: int) -> bool:
    if number == 0:
        return is_pure_chain(stage) and not any(map(_why_not_pure, all_stages(stage)))
    return not _why_not_pure(stage) and stage.kind != "repeat"


def _why_not_pure(stage: Stage) -> str:
    """Return why a stage may give other elements in another pass; empty: it cannot."""
    if stage.label.startswith("from_generator"):
        return "a Python generator makes its elements"
    if getattr(stage.dataset, "_deterministic", "") == "false":
        return "its order is not fixed"
    for wrapper in _functions_of(stage):
        if any(tensor.dtype.name == "resource" for tensor in wrapper.function.captured_inputs):
            return "its function uses a variable or a table, which may change"
    if stage.traits.is_pure:
        return ""
    return f"its function {stage.traits.reason}" if _functions_of(stage) else stage.traits.reason


def _functions_of(stage: Stage) -> Sequence[Dataset]:
    try:
        return list(stage.dataset._functions())
    except (AttributeError, NotImplementedError, TypeError):
        return []


def _maps_behind_shuffle(chain: list[Stage]) -> list[Stage]:
    """Return the maps that the shuffle at the beginning may be moved behind."""
    lifted: list[Stage] = []
    if not chain or chain[0].kind != "shuffle":
        return lifted
    for stage in chain[1:]:
        is_one_to_one = bool(getattr(stage.dataset, "_preserve_cardinality", False))
        if stage.kind in _MAPS and is_one_to_one and not _why_not_pure(stage):
            lifted.append(stage)
        elif stage.kind not in _BLIND:
            break
    return lifted


def _last_work(stage: Stage) -> Stage | None:
    """Return the last stage that computes or reads something and is not cached already."""
    if stage.kind == "cache":
        return None
    if stage.kind in _WORK:
        return stage
    found = map(_last_work, stage.inputs)
    return next((one for one in found if one is not None), None)


def _why_not_behind_cache(stage: Stage) -> str:
    if stage.build is None:
        return "quickfit does not rebuild this stage"
    if stage.kind == "shuffle" and not _shares_seeds(stage):
        return "the state of its shuffle cannot be shared"
    if stage.kind in ("take", "shard", "window"):
        return "only a part of it may be taken, so a cache would never be filled"
    if stage.kind == "cache":
        return "it is cached further on"
    return ""


def _shares_seeds(shuffle: Stage) -> bool:
    return hasattr(shuffle.dataset, "_quickfit_seeds")


def _files_read(top: Stage) -> tuple[str, ...] | None:
    """Return the files that a chain reads; None: there may be others."""
    names: list[str] = []
    reads = False
    for stage in all_stages(top):
        reads = reads or stage.kind in _FILES
        if stage.kind == "tensorslice":
            names += _texts(stage.dataset)
        for wrapper in _functions_of(stage):
            types = {operation.type for operation in function_operations(wrapper) or ()}
            reads = reads or "ReadFile" in types or any("Dataset" in kind for kind in types)
    if not reads:
        return ()
    files = tuple(name for name in names if os.path.isfile(name))
    return files if files and len(files) == len(names) else None


def _texts(source: Dataset) -> list[str]:
    found: list[str] = []
    for tensor in getattr(source, "_tensors", ()):
        if tensor.dtype.name == "string":
            found += [os.fsdecode(value) for value in tensor.numpy().reshape(-1).tolist()]
    return found
