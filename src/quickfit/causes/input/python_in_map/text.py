"""Maps of tf.data that call back into Python for what TensorFlow's own operations do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.causes._shared.dataset_elements import mapping
from quickfit.causes._shared.python_work import Work, work
from quickfit.code import Module, Program
from quickfit.code.datasets import BATCHING, Stage, chains
from quickfit.code.syntax import Function, argument
from quickfit.code.values import Routine

CALLERS = ("py_function", "numpy_function", "py_func")
_FULL = tuple(f"tensorflow.{name}" for name in CALLERS)
_BATCHING = BATCHING | {"window"}
# NumPy that TensorFlow has nothing for, or that would not be the same there.
_ONLY_NUMPY = frozenset(
    (
        *("interp", "convolve", "correlate", "histogram", "digitize", "polyfit", "polyval"),
        *("apply_along_axis", "vectorize", "frombuffer", "loadtxt", "genfromtxt", "choice"),
        *("lexsort", "percentile", "quantile", "median", "nanmedian", "gradient"),
    )
)
_TEXT = frozenset(
    ("decode", "encode", "split", "strip", "lower", "upper", "replace", "join", "translate", "find")
)
# Chance that TensorFlow has as well. A generator with a seed of its own is meant to be repeated.
_DRAWN = frozenset(
    (
        *("rand", "randn", "random", "random_sample", "randint", "uniform", "normal"),
        *("standard_normal", "gauss"),
    )
)
# Methods of a picture of Pillow that TensorFlow has no operation for.
_ONLY_PILLOW = frozenset(("rotate", "filter", "transform", "quantize", "paste", "point", "enhance"))
MAX_DEPTH = 3


@dataclass(frozen=True)
class PythonMap:
    """A call into Python from a map; `read` is the call that reads a file, in `module`."""

    call: ast.Call
    name: str
    module: Module
    read: ast.Call | None


def python_maps(program: Program, module: Module) -> Iterator[PythonMap]:
    """Yield the calls into Python that a map makes for nothing."""
    for call in module.calls(*CALLERS):
        given = argument(call, "func", 0)
        if given is None or not program.called(module, call).endswith(_FULL):
            continue
        only = program.only(module, given)
        if not isinstance(only, Routine):
            continue
        done = work(program, only)
        images = [(where, read) for where, read, name in done.reads if name != "builtins.open"]
        is_plain = not done.others and len(images) == len(done.reads)
        if not is_plain or not _has_in_tensorflow(done) or not (images or _computes(done)):
            continue
        stages = _stages(program, module, call)
        if stages and (images or not any(_is_batched(program, stage) for stage in stages)):
            where, read = images[0] if images else (only.module, None)
            yield PythonMap(call, module.code(given), where, read)


def _has_in_tensorflow(done: Work) -> bool:
    """Tell whether nothing of its own kind is called, and no chance but of plain numbers."""
    if done.methods & _ONLY_PILLOW:
        return False
    drawn = [name.rsplit(".", 1)[-1] for name in done.calls if ".random." in f".{name}"]
    if not set(drawn) <= _DRAWN:
        return False
    numpy = [name.rsplit(".", 1)[-1] for name in done.calls if name.startswith("numpy.")]
    return not _ONLY_NUMPY & set(numpy)


def _computes(done: Work) -> bool:
    """Tell whether NumPy does the work, and not Python with texts."""
    return any(name.startswith("numpy.") for name in done.calls) and not done.methods & _TEXT


def _stages(program: Program, module: Module, node: ast.AST, depth: int = MAX_DEPTH) -> list[Stage]:
    """Return the maps that run a piece of code, also through functions."""
    function: Function | None = module.function(node)
    if function is None or depth == 0:
        return []
    found = [s for s in mapping(program, module, function) if s.name == "map"]
    for other, call in program.resolver.callers(module, function) if not found else ():
        found += _stages(program, other, call, depth - 1)
    return found


def _is_batched(program: Program, stage: Stage) -> bool:
    """Tell whether a map gets whole batches, for which Python is called seldom."""
    found = chains(program, stage.module, stage.call)
    return not found or any(
        s.name in _BATCHING for chain in found for s in chain.before(stage.call)
    )
