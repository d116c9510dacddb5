"""Which expressions of a program are Keras models, optimizers, or arrays of a single row."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from quickfit.code.calls import position_of_parameter
from quickfit.code.keras_models import is_model_value
from quickfit.code.module import Module
from quickfit.code.names import Binding
from quickfit.code.program import Program
from quickfit.code.syntax import FUNCTIONS, argument, name_of
from quickfit.code.values import Instance, Literal, Made, Member, Routine, Value
from quickfit.findings import Edit

_CALLBACK = "keras.callbacks.Callback"
# Of all that has a method `compile`, only Keras models take these.
_COMPILE = frozenset(("optimizer", "loss", "metrics"))
_ONLY_KERAS = frozenset(("fit_generator", "evaluate_generator", "predict_generator"))
# No other library has arguments of these names for such methods.
_OWN = frozenset(
    (
        *("steps_per_epoch", "validation_steps", "use_multiprocessing", "max_queue_size"),
        *("validation_freq", "initial_epoch"),
    )
)


def is_models(program: Program, module: Module, node: ast.expr) -> bool:
    """Tell whether `node` in `node.name` is surely a Keras model; the name must be Keras's own."""
    above = module.parent(node)
    if not isinstance(above, ast.Attribute):
        return False
    if any(isinstance(v, Routine) for v in program.values(module, above)):
        return False  # the program has written such a method itself
    values = [v for v in program.values(module, node) if not _is_none(v)]
    if values and all(_is_model(program, value) for value in values):
        return True
    if any(_is_other(value) for value in values):
        return False
    return is_compiled(module, node) or _has_own_arguments(module, above)


def is_compiled(module: Module, node: ast.expr) -> bool:
    """Tell whether a file calls `compile` of something by the same name, as Keras has it."""
    calls = module.calls("compile")
    code = module.code(node) if calls else ""
    for call in calls:
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_keras = any(k.arg in _COMPILE for k in call.keywords)
        if owner is not None and is_keras and module.code(owner) == code:
            return True
    return False


def _is_model(program: Program, value: Value) -> bool:
    if is_model_value(program, value):
        return True
    # Keras gives every callback the model that is trained.
    is_given = isinstance(value, Member) and value.name == "model"
    return is_given and isinstance(value, Member) and _CALLBACK in program.ancestors(value.of)


def _is_other(value: Value) -> bool:
    """Tell whether something is surely no model of this Keras."""
    if isinstance(value, Made):
        return value.maker.startswith(("tf_keras", "sklearn", "keras.", "builtins", "torch"))
    return isinstance(value, Instance | Literal)


def _is_none(value: Value) -> bool:
    return isinstance(value, Literal) and value.value is None


def _has_own_arguments(module: Module, method: ast.Attribute) -> bool:
    call = module.parent(method)
    if not isinstance(call, ast.Call) or call.func is not method:
        return False
    is_near = "keras" in module.text or "tensorflow" in module.text
    is_own = method.attr in _ONLY_KERAS or any(k.arg in _OWN for k in call.keywords)
    return is_near and is_own


SCALING = "keras.mixed_precision.LossScaleOptimizer"
_FAMILY = "keras.optimizers"


def is_optimizer_value(value: Value) -> bool:
    """Tell whether something is an optimizer made by Keras, scaling or not."""
    return isinstance(value, Made) and (value.maker == SCALING or is_plain(value))


def is_plain(value: Value) -> bool:
    """Tell whether something is an optimizer made by Keras that does not scale the loss."""
    if not isinstance(value, Made) or not value.maker.startswith(f"{_FAMILY}."):
        return False
    rest = value.maker.removeprefix(f"{_FAMILY}.")
    return rest == "get" or ("." not in rest and rest[:1].isupper())


def is_optimizer(program: Program, module: Module, node: ast.expr) -> bool:
    """Tell whether an expression is surely an optimizer made by Keras."""
    values = program.values(module, node)
    return bool(values) and all(is_optimizer_value(value) for value in values)


def wrapping(program: Program, made: Made) -> tuple[Edit, ...]:
    """Return the edits that make an optimizer scale the loss; none where no name is at hand."""
    module, call = made.module, made.call
    name = _scaling_name(program, module, call)
    if not name:
        return ()
    begin, end = module.begin(call), module.end(call)
    return (
        Edit(module.path, begin, begin, f"{name}("),
        Edit(module.path, end, end, ")"),
    )


def _scaling_name(program: Program, module: Module, call: ast.Call) -> str:
    """Return how a file that makes an optimizer would write `LossScaleOptimizer`."""
    maker = call.func
    family = maker.value if isinstance(maker, ast.Attribute) else None
    if isinstance(family, ast.Attribute) and program.name(module, family.value) == "keras":
        return f"{module.code(family.value)}.mixed_precision.LossScaleOptimizer"
    prefix = keras_name(module)
    if prefix:
        return f"{prefix}.mixed_precision.LossScaleOptimizer"
    if isinstance(family, ast.Name) and program.name(module, family) == _FAMILY:
        return f"{family.id}.LossScaleOptimizer"
    return ""


def keras_name(module: Module) -> str:
    """Return how a file calls Keras: `keras`, `tf.keras`; empty where it has no name for it."""
    found = ""
    for full, bound in _imported(module):
        if full in ("keras", "tensorflow.keras"):
            return bound
        if full == "tensorflow":
            found = found or f"{bound}.keras"
    return found


def _imported(module: Module) -> Iterator[tuple[str, str]]:
    """Yield the full names of what a file imports at its outermost level, and what it is called."""
    for node in module.tree.body:
        if isinstance(node, ast.Import):
            yield from ((alias.name, alias.asname or alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                yield f"{node.module}.{alias.name}", alias.asname or alias.name


MAX_DEPTH = 8
# Calls that keep the number of rows of what they are given first, or are a method of.
_KEEPING = frozenset(
    (
        *("preprocess_input", "cast", "convert_to_tensor", "constant", "asarray", "array"),
        *("astype", "copy", "numpy", "float32", "pad_sequences", "vstack", "to_tensor"),
        *("convert_image_dtype", "ascontiguousarray", "divide", "abs", "clip"),
    )
)
# Calls that give one row for each element of the list that they are given.
_PER_ELEMENT = frozenset(
    (
        *("array", "asarray", "constant", "convert_to_tensor", "stack", "texts_to_sequences"),
        *("texts_to_matrix", "transform", "pad_sequences", "vstack"),
    )
)
_FILLED = frozenset(("zeros", "ones", "empty", "full", "normal", "rand", "randn", "uniform"))


def is_one_row(program: Program, module: Module, node: ast.expr, depth: int = MAX_DEPTH) -> bool:
    """Tell whether an expression is surely a single row, over names, helpers and files."""
    if depth == 0:
        return False
    if isinstance(node, ast.Name):
        found = list(_given(program, module, node))
        return bool(found) and all(
            value is not None and is_one_row(program, other, value, depth - 1)
            for other, value in found
        )
    if isinstance(node, ast.List | ast.Tuple):  # of several inputs
        return bool(node.elts) and all(
            is_one_row(program, module, part, depth - 1) for part in node.elts
        )
    if isinstance(node, ast.Dict):
        return bool(node.values) and all(
            is_one_row(program, module, part, depth - 1) for part in node.values
        )
    if isinstance(node, ast.BinOp):
        return any(is_one_row(program, module, p, depth - 1) for p in (node.left, node.right))
    if isinstance(node, ast.Subscript):
        return _is_row_index(node.slice)
    return isinstance(node, ast.Call) and _is_row_call(program, module, node, depth)


def _given(
    program: Program, module: Module, node: ast.Name
) -> Iterator[tuple[Module, ast.expr | None]]:
    """Yield the expressions that a name may stand for; None for what is not one."""
    for binding in program.files.bindings(module).reaching(node, node.id):
        if binding.kind == "parameter":
            yield from _arguments(program, module, binding)
        elif isinstance(binding.node, ast.AugAssign):  # `x /= 255` keeps the rows
            target = binding.node.target
            if isinstance(target, ast.Name):
                yield from _given(program, module, target)
        else:
            is_whole = binding.kind == "value" and not binding.path
            yield module, binding.value if is_whole and _is_assigned(binding) else None


def _is_assigned(binding: Binding) -> bool:
    return isinstance(binding.node, ast.Assign | ast.AnnAssign | ast.NamedExpr)


def _arguments(
    program: Program, module: Module, binding: Binding
) -> Iterator[tuple[Module, ast.expr | None]]:
    function = module.around(binding.node, *FUNCTIONS)
    if not isinstance(function, FUNCTIONS):
        return
    at = position_of_parameter(module, function, binding.name)
    for other, call in program.resolver.callers(module, function):
        yield other, argument(call, binding.name, at)


def _is_row_index(index: ast.expr) -> bool:
    """Tell whether an index gives one row: `[None]`, `[i : i + 1]`, `[[i]]`."""
    first = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    if isinstance(first, ast.Constant):
        return first.value is None
    if isinstance(first, ast.List):
        return len(first.elts) == 1
    if not isinstance(first, ast.Slice) or first.step is not None or first.upper is None:
        return name_of(first) == "newaxis"
    if first.lower is None:
        return isinstance(first.upper, ast.Constant) and first.upper.value == 1
    return ast.unparse(first.upper) == f"{ast.unparse(first.lower)} + 1"


def _is_row_call(program: Program, module: Module, call: ast.Call, depth: int) -> bool:
    name = name_of(call.func)
    is_method = isinstance(call.func, ast.Attribute) and not program.called(module, call)
    first = call.args[0] if call.args else None
    if name == "expand_dims":
        return program.literal(module, argument(call, "axis", 1)) == 0
    if name == "reshape":
        shape = first if is_method else argument(call, "newshape", 1) or argument(call, "shape", 1)
        return _begins_with_one(program, module, shape)
    if name in _FILLED:
        size = argument(call, "size", 2) or argument(call, "shape", 0) or first
        return _begins_with_one(program, module, size)
    if name in _PER_ELEMENT and isinstance(first, ast.List):
        return len(first.elts) == 1 and not isinstance(first.elts[0], ast.Starred)
    if name not in _KEEPING:
        return False
    kept = call.func.value if is_method and isinstance(call.func, ast.Attribute) else first
    candidates = [part for part in (kept, first) if part is not None]
    return any(is_one_row(program, module, part, depth - 1) for part in candidates)


def _begins_with_one(program: Program, module: Module, shape: ast.expr | None) -> bool:
    if isinstance(shape, ast.Tuple | ast.List) and shape.elts:
        return len(shape.elts) > 1 and program.literal(module, shape.elts[0]) == 1
    return isinstance(shape, ast.Constant) and shape.value == 1
