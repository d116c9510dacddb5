"""What maps do to the elements of a dataset, where tensors come from, who consumes them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from quickfit.code import Module, Program
from quickfit.code.calls import default_of_parameter, position_of_parameter
from quickfit.code.conditions import Reach
from quickfit.code.datasets import MAPPING, ONLY_OF_DATASETS, SAME_ELEMENTS, Chain, Stage, chains
from quickfit.code.keras_models import Feed, feeds, fittings
from quickfit.code.syntax import Function, argument, keyword_value, own_nodes
from quickfit.code.values import (
    UNKNOWN,
    Computed,
    External,
    Frame,
    Group,
    Instance,
    Item,
    Made,
    Member,
    Parameter,
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
    needed = [a.arg for a in plain if default_of_parameter(routine.node, a.arg) is None]
    given = {k.arg for k in call.keywords}
    # A name that no program can have, for what is not known.
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
        given = keyword_value(at.call, "training")
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


MAX_VALUES, MAX_ORIGIN_DEPTH = 60, 4
# Stages that give the elements as they got them.
_KEEPING = SAME_ELEMENTS | {"concatenate"}


@dataclass(frozen=True)
class Element(Value):
    """A part of what a dataset gives that no function of the program has made.

    Args:
        chain: the stages up to where it comes from.
        index: which argument of the mapped function it is.
    """

    chain: Chain
    index: int


def origins(
    program: Program, module: Module, node: ast.expr, passing: Collection[str]
) -> list[Value]:
    """Return what a tensor may have been before calls that pass it on.

    Args:
        program: that it is part of.
        module: where the expression stands.
        node: the expression.
        passing: full names of what is followed to its first argument; with `arithmetic` among
            them, sums and products with numbers are followed as well, with `items` also parts
            of a tensor: `x[2:]`.
    """
    waiting: list[tuple[Module, ast.expr]] = [(module, node)]
    found: list[Value] = []
    for where, expression in waiting:
        if len(waiting) > MAX_VALUES:
            return [UNKNOWN]
        for value in program.values(where, expression):
            before = list(_before(program, value, passing))
            new = [pair for pair in before if isinstance(pair, tuple) and pair not in waiting]
            waiting += new
            found += [v for v in before if isinstance(v, Value)]
    return list(dict.fromkeys(found))


def _before(
    program: Program, value: Value, passing: Collection[str]
) -> Iterator[tuple[Module, ast.expr] | Value]:
    if isinstance(value, Made) and value.maker in passing:
        tensor = tensor_of(value.call)
        yield (value.module, tensor) if tensor is not None else value
    elif isinstance(value, Computed) and "arithmetic" in passing:
        yield from _operands(program, value)
    elif isinstance(value, Item) and value.index is None and "items" in passing:
        yield from _before(program, value.of, passing)
    elif isinstance(value, Parameter):
        yield from given(program, value)
    else:
        yield value


def _operands(program: Program, value: Computed) -> Iterator[tuple[Module, ast.expr] | Value]:
    """Yield the side of a sum or product with a number that is no number."""
    node = value.node
    if not isinstance(node, ast.BinOp):
        yield value
        return
    sides = (node.left, node.right)
    numbers = [s for s in sides if isinstance(program.literal(value.module, s), int | float)]
    if len(numbers) != 1:
        yield value
        return
    yield value.module, node.right if numbers[0] is node.left else node.left


# -- functions that are mapped --------------------------------------------------------------


def mapping(program: Program, module: Module, function: Function) -> list[Stage]:
    """Return the stages of datasets that call a function for each element."""
    name = getattr(function, "name", "")
    parent = module.parent(function)
    if name == "__call__" and isinstance(parent, ast.ClassDef):
        name = parent.name  # who maps with an object names its class
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
    others = program.files.mentioning(name, module.path) if name else []
    found: list[Stage] = []
    for place in (module, *others):
        for call in place.calls(*MAPPING):
            stage = Stage(getattr(call.func, "attr", ""), call, place)
            if stage.name and _maps(program, stage, function) and _is_of_dataset(program, stage):
                found.append(stage)
    return found


def _maps(program: Program, stage: Stage, function: Function) -> bool:
    return any(routine.node is function for routine, _ in mapped(program, stage))


def _is_of_dataset(program: Program, stage: Stage) -> bool:
    """Tell whether a `map` is surely one of tf.data, by its receiver or what is done with it."""
    call, module = stage.call, stage.module
    if any(k.arg in ("num_parallel_calls", "deterministic") for k in call.keywords):
        return True
    if any(
        chain.is_whole or chain.has(*ONLY_OF_DATASETS) for chain in chains(program, module, call)
    ):
        return True
    later = [c for c in module.calls(*ONLY_OF_DATASETS) if isinstance(c.func, ast.Attribute)]
    return any(
        stage.call is s.call
        for c in later
        for chain in chains(program, module, c)
        for s in chain.stages
    )


def is_traced(
    program: Program, module: Module, node: ast.AST, *, depth: int = MAX_ORIGIN_DEPTH
) -> bool:
    """Tell whether code is surely made into a graph: by a `map`, or by `tf.function`."""
    function = module.function(node)
    if function is None or depth == 0:
        return False
    decorators = getattr(function, "decorator_list", [])
    if any(_is_graph(program, module, each) for each in decorators):
        return not module.calls("run_functions_eagerly")
    if mapping(program, module, function):
        return not module.calls("enable_debug_mode")
    callers = program.resolver.callers(module, function)
    return any(is_traced(program, other, call, depth=depth - 1) for other, call in callers)


def _is_graph(program: Program, module: Module, decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    return program.name(module, decorator) == "tensorflow.function"


# -- from map to map ------------------------------------------------------------------------


def given(program: Program, parameter: Parameter) -> Iterator[tuple[Module, ast.expr] | Value]:
    """Yield what a mapped function gets for an argument: what the map before gives, or `Element`.

    Where the function is not seen to be mapped, the argument itself.
    """
    module = parameter.module
    index = position_of_parameter(module, parameter.node, parameter.name)
    stages = mapping(program, module, parameter.node) if index >= 0 else []
    if not stages:
        yield parameter
    for stage in stages:
        for chain in chains(program, stage.module, stage.call):
            before = [s for s in chain.before(stage.call) if s.name not in _KEEPING]
            yield from _made_by(program, Chain(tuple(before), chain.is_whole), index)


def _made_by(
    program: Program, chain: Chain, index: int
) -> Iterator[tuple[Module, ast.expr] | Value]:
    last = chain.stages[-1] if chain.stages else None
    functions = mapped(program, last) if last is not None and last.name == "map" else []
    if not functions:
        yield Element(chain, index)
    for routine, _ in functions:
        for result in results(routine.node):
            parts = result.elts if isinstance(result, ast.Tuple) else [result]
            is_known = index < len(parts) and (len(parts) > 1 or index == 0)
            yield (routine.module, parts[index]) if is_known else UNKNOWN


def results(function: Function) -> list[ast.expr]:
    """Return what a function returns."""
    if isinstance(function, ast.Lambda):
        return [function.body]
    nodes = own_nodes(function)
    return [n.value for n in nodes if isinstance(n, ast.Return) and n.value is not None]


def tensor_of(call: ast.Call) -> ast.expr | None:
    """Return the tensor that a function of TensorFlow is given first, whatever it calls it."""
    if call.args:
        return call.args[0] if not isinstance(call.args[0], ast.Starred) else None
    named = (
        keyword_value(call, name) for name in ("image", "images", "x", "input", "value", "tensor")
    )
    return next((given for given in named if given is not None), None)


MAX_CONSUMER_DEPTH, MAX_FILES = 3, 20


def consumers(program: Program, module: Module, call: ast.Call) -> list[Feed]:
    """Return what is fed with a dataset that has been through a call, as far as it is seen."""
    found: list[Feed] = []
    for place in _places(program, module, call, MAX_CONSUMER_DEPTH)[:MAX_FILES]:
        for fitting in fittings(program, place):
            found += [f for f in feeds(fitting) if _passed(program, f, module, call)]
    return found


def _places(program: Program, module: Module, call: ast.Call, depth: int) -> list[Module]:
    """Return the files that may hold what a call gives."""
    function, found = module.function(call), [module]
    if function is None:
        statement = module.statement(call)
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Name):
                found += program.files.mentioning(target.id, module.path)
    elif depth:
        for other, caller in program.resolver.callers(module, function):
            found += _places(program, other, caller, depth - 1)
    return list(dict.fromkeys(found))


def _passed(program: Program, feed: Feed, module: Module, call: ast.Call) -> bool:
    found = chains(program, feed.fitting.module, feed.data)
    stages = [stage for chain in found for stage in chain.stages]
    # A file that was read again has other nodes at the same places.
    place = (module.path, module.begin(call), module.end(call))
    return any(
        (s.module.path, s.module.begin(s.call), s.module.end(s.call)) == place for s in stages
    )
