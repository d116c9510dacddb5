"""What the functions that a dataset is mapped with do to its elements."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from quickfit.program import Module, Program, argument, keyword
from quickfit.program.datasets import Stage
from quickfit.program.frames import Frame
from quickfit.program.module import own_nodes
from quickfit.program.parameters import default_of
from quickfit.program.reaching import Reach
from quickfit.program.values import (
    External,
    Group,
    Instance,
    Made,
    Member,
    Routine,
    Value,
    Values,
)

MAX_DEPTH, MAX_STEPS = 6, 400
# Run a function of Python's own for every element.
PYTHON = frozenset(
    ("tensorflow.py_function", "tensorflow.numpy_function", "tensorflow.compat.v1.py_func")
)
# Call the function that they are given first.
_CALLING = frozenset((*PYTHON, "tensorflow.map_fn", "tensorflow.vectorized_map"))
_DRAWS = frozenset(
    (
        *("uniform", "normal", "truncated_normal", "shuffle", "categorical", "gamma", "poisson"),
        *("uniform_full_int", "binomial", "make_seeds", "log_uniform_candidate_sampler"),
    )
)
_GENERATORS = ("tensorflow.random.Generator", "tensorflow.random.get_global_generator")
_RANDOM = (
    *("tensorflow.image.random_", "tensorflow.image.sample_distorted_bounding_box"),
    *("keras.layers.Random", "keras.layers.RandAugment", "keras.layers.MixUp"),
    *("keras.layers.CutMix", "keras.layers.AugMix", "keras.layers.experimental.preprocessing.R"),
    *("keras_cv.layers.Random", "keras_cv.layers.RandAugment", "tensorflow_addons.image.random_"),
)
# Draw in Python: once, when a function is traced, unless Python runs it for each element.
_PYTHON_RANDOM = ("random.", "numpy.random.", "keras.preprocessing.image.random_")
_SETTINGS = frozenset(("seed", "default_rng", "RandomState", "get_state", "set_state", "Random"))
_READERS = (
    *("tensorflow.io.read_file", "tensorflow.io.decode_", "tensorflow.io.parse_", "cv2.imread"),
    *("tensorflow.audio.decode", "PIL.Image.open", "numpy.load", "keras.utils.load_img"),
)


@dataclass(frozen=True)
class Step:
    """A call into a library that is surely made for an element.

    Args:
        name: the full name of what is called; of an object's method, of what made the object
            with the method's name behind it; of a layer that is called, the layer's.
        call: the call.
        module: where it stands.
        is_python: Python runs it for each element; else it is run once, to make a graph.
    """

    name: str
    call: ast.Call
    module: Module
    is_python: bool = False

    @property
    def is_random(self) -> bool:
        """Whether it draws anew for each element."""
        if self.name.startswith(_PYTHON_RANDOM):
            return self.is_python and self.name.rsplit(".", 1)[1] not in _SETTINGS
        last = self.name.rsplit(".", 1)[-1]
        if self.name.startswith((*_GENERATORS, "tensorflow.random.")):
            return last in _DRAWS
        return self.name.startswith(_RANDOM)

    @property
    def is_bare(self) -> bool:
        """Whether it gives numbers, and nothing that was there before with a change to it."""
        return self.name.startswith(("tensorflow.random.", "random.", "numpy.random."))

    @property
    def reads(self) -> bool:
        """Whether it reads a file or decodes what was read."""
        return self.name.startswith(_READERS)


def mapped(program: Program, stage: Stage) -> list[tuple[Routine, Frame | None]]:
    """Return the functions that a stage calls for each element; none where one is not known."""
    given = argument(stage.call, "map_func", 0)
    if given is None:
        return []
    found: list[tuple[Routine, Frame | None]] = []
    for value in program.values(stage.module, given, stage.frame):
        inner = _routines(program, value)
        if not inner:
            return []
        found += inner
    return found


def steps(program: Program, stage: Stage) -> list[Step]:
    """Return the calls into libraries that a stage surely makes for each element."""
    functions = mapped(program, stage)
    if len(functions) == 1:
        return list(_Walk(program).of(*functions[0]))
    given = argument(stage.call, "map_func", 0)
    only = program.only(stage.module, given, stage.frame)  # a layer, itself the function
    if given is None or not isinstance(only, Made):
        return []
    return [Step(name, stage.call, stage.module) for name in _layers(program, only)]


def _routines(program: Program, value: Value) -> list[tuple[Routine, Frame | None]]:
    if isinstance(value, Routine):
        return [(value, _element_frame(value, ast.Call(ast.Name("map"), [], [])))]
    if isinstance(value, Instance):
        methods = program.resolver.attribute(value.made, "__call__")
        return [pair for m in methods if isinstance(m, Routine) for pair in _routines(program, m)]
    if not isinstance(value, Made) or not value.call.args:
        return []
    inner = program.values(value.module, value.call.args[0], value.frame)
    if value.maker == "functools.partial":
        rest = ast.Call(value.call.func, value.call.args[1:], value.call.keywords)
        return [(v, _element_frame(v, rest, value.module)) for v in inner if isinstance(v, Routine)]
    if value.maker in ("tensorflow.function", "tensorflow.autograph.experimental.do_not_convert"):
        return [pair for v in inner for pair in _routines(program, v)]
    return []


def _element_frame(routine: Routine, call: ast.Call, module: Module | None = None) -> Frame:
    """Return the frame of a call with an element: what has a default keeps it."""
    plain = [*routine.node.args.posonlyargs, *routine.node.args.args]
    if routine.owner is not None and plain:
        plain = plain[1:]
    needed = [a.arg for a in plain if default_of(routine.node, a.arg) is None]
    given = {k.arg for k in call.keywords}
    # A name that no program can have, for what nobody knows.
    rest = [ast.Name("<element>") for name in needed[len(call.args) :] if name not in given]
    whole = ast.Call(call.func, [*call.args, *rest], call.keywords)
    return Frame(routine.node, whole, module or routine.module, None, 1)


class _Walk:
    """Goes through the functions that are called for an element."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.taken = 0

    def of(
        self, routine: Routine, frame: Frame | None, *, is_python: bool = False
    ) -> Iterator[Step]:
        """Yield the steps of one call of a function, in the order of the text."""
        module, resolver = routine.module, self.program.resolver
        reach = Reach(resolver, module, frame)
        calls = [node for node in own_nodes(routine.node) if isinstance(node, ast.Call)]
        for call in sorted(calls, key=lambda c: (c.end_lineno or 0, c.end_col_offset or 0)):
            self.taken += 1
            if self.taken > MAX_STEPS:
                return
            if reach.comes_to(call):
                for value in resolver.values(module, call.func, frame):
                    yield from self._called(value, Step("", call, module, is_python), frame)

    def _called(self, value: Value, at: Step, frame: Frame | None) -> Iterator[Step]:
        if isinstance(value, External):
            yield Step(value.name, at.call, at.module, at.is_python)
            if value.name in _CALLING and at.call.args:
                yield from self._given(value.name, at, frame)
        elif isinstance(value, Routine):
            depth = frame.depth + 1 if frame is not None else 1
            if depth <= MAX_DEPTH and not (frame is not None and frame.is_in(value.node)):
                inner = Frame(value.node, at.call, at.module, frame, depth)
                yield from self.of(value, inner, is_python=at.is_python)
        elif isinstance(value, Instance):
            for method in self.program.resolver.attribute(value.made, "__call__"):
                yield from self._called(method, at, frame)
        elif isinstance(value, Member) and isinstance(value.of, Made) and value.of.maker:
            yield Step(f"{value.of.maker}.{value.name}", at.call, at.module, at.is_python)
        elif isinstance(value, Made) and self._is_training(at, frame):
            for name in _layers(self.program, value):
                yield Step(name, at.call, at.module, at.is_python)

    def _given(self, name: str, at: Step, frame: Frame | None) -> Iterator[Step]:
        """Yield the steps of the function that a call is given, and calls."""
        is_python = at.is_python or name in PYTHON
        given = self.program.resolver.values(at.module, at.call.args[0], frame)
        for value in given:
            for routine, inner in _routines(self.program, value):
                if not (frame is not None and frame.is_in(routine.node)):
                    yield from self.of(routine, inner, is_python=is_python)

    def _is_training(self, at: Step, frame: Frame | None) -> bool:
        """Tell whether a layer is called as in training, which is what it does if not told."""
        given = keyword(at.call, "training")
        reach = Reach(self.program.resolver, at.module, frame)
        return given is None or bool(reach.holds(given))


def _layers(program: Program, value: Made) -> list[str]:
    """Return the full names of the layers that calling an object calls."""
    if value.maker != "keras.Sequential":
        return [value.maker] if value.maker else []
    given = argument(value.call, "layers", 0)
    groups: Values = program.values(value.module, given, value.frame) if given is not None else ()
    found: list[str] = []
    for group in groups:
        if isinstance(group, Group) and isinstance(group.node, ast.List | ast.Tuple):
            found += [program.maker(group.module, each) for each in group.node.elts]
    return [name for name in found if name]
