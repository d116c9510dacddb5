"""Edits that compute in single precision: Keras's setting, or the arrays of a dataset."""

from __future__ import annotations

import ast
from enum import Enum

from quickfit.code import Module, Program
from quickfit.code.arrays import bindings_near
from quickfit.code.scopes import call_at, imported_from_project
from quickfit.code.syntax import called_name, keyword_value, name_of
from quickfit.findings import Change, Edit, FixClass

SETTERS = ("set_floatx", "set_dtype_policy", "set_global_policy")
# Calls that keep the precision of what they are given, where nothing else is said.
_TENSORS = ("Variable", "constant", "convert_to_tensor", "from_generator", "py_function")
NOTE = "Rounding differs from the seventh digit on; accuracy does not, in nearly all models."


def single_policy(module: Module, line: int, program: Program) -> Change | None:
    """Leave Keras's precision as it is: float32."""
    call = call_at(module, line, *SETTERS)
    if call is None or len(call.args) != 1 or call.keywords:
        return None
    value = call.args[0]
    if not isinstance(value, ast.Constant) or value.value != "float64":
        return None
    # A loop of one's own, or a tensor of a fixed type, would meet float32 unprepared.
    if len(_mentions(program)) != 1 or _has(program, "GradientTape", *_TENSORS):
        return None
    return _change((_without(module, call, value),))


def _change(edits: tuple[Edit, ...]) -> Change:
    return Change(
        title="Compute in float32",
        kind=FixClass.MAY_CHANGE_RESULTS,
        edits=edits,
        note=NOTE,
    )


def _without(module: Module, call: ast.Call, value: ast.Constant) -> Edit:
    """Return the edit that removes the call; where a comment belongs to it, its value changes."""
    statement = module.statement(call)
    line = module.begin(statement)[0]
    is_told = module.has_comment(statement, statement) or (
        line > 1 and module.lines[line - 2].strip().startswith("#")
    )
    is_whole = isinstance(statement, ast.Expr) and statement.value is call
    if is_told or not is_whole or len(module.block(statement)) == 1:
        quote = module.code(value)[0]
        return module.replace(value, f"{quote}float32{quote}")
    return module.remove(statement) or module.replace(value, '"float32"')


def _mentions(program: Program) -> list[ast.AST]:
    """Return every place of the code that names double precision."""
    nodes = [n for module in _scripts(program) for n in ast.walk(module.tree)]
    texts: list[ast.AST] = [n for n in nodes if isinstance(n, ast.Constant) and _is_double(n.value)]
    names = [n for n in nodes if isinstance(n, ast.Attribute) or _is_imported_type(n)]
    return [*texts, *(n for n in names if isinstance(n, ast.expr) and _is_double(name_of(n)))]


def _is_imported_type(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "float64"


def _is_double(text: object) -> bool:
    return text in ("float64", "double", "complex128")


def _has(program: Program, *names: str) -> bool:
    """Tell whether one of some functions is called, without a type that it is given."""
    calls = [call for module in _scripts(program) for call in module.all(ast.Call)]
    return any(called_name(call) in names for call in calls)


def _scripts(program: Program) -> list[Module]:
    return program.modules()


def single_data(program: Program) -> Change | None:
    """Make the arrays of the datasets float32, where everything else follows their type."""
    if _mentions(program) or _has(program, *SETTERS) or not _all_follow(program):
        return None
    edits = [_cast(module, call) for module, call in Doubles(program).find()]
    return _change(tuple(dict.fromkeys(edits))) if edits else None


def _cast(module: Module, call: ast.Call) -> Edit:
    place = module.end(call)
    return Edit(module.path, place, place, '.astype("float32")')


def _all_follow(program: Program) -> bool:
    """Tell whether tensors that the script makes itself take their type from the data."""
    calls = [call for module in _scripts(program) for call in module.all(ast.Call)]
    return all(_follows(call) for call in calls if called_name(call) in _TENSORS)


def _follows(call: ast.Call) -> bool:
    given = keyword_value(call, "dtype")
    if given is not None:
        return isinstance(given, ast.Attribute) and given.attr == "dtype"
    first = call.args[0] if call.args else None
    return isinstance(first, ast.Call) and _is_tensorflow(first)


def _is_tensorflow(call: ast.Call) -> bool:
    """Tell whether a call makes a tensor: of the data's type, or float32 by itself."""
    root: ast.expr = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    given = keyword_value(call, "dtype")
    is_typed = given is None or (isinstance(given, ast.Attribute) and given.attr == "dtype")
    return is_typed and isinstance(root, ast.Name) and root.id in ("tf", "tensorflow")


Source = tuple[Module, ast.Call]
# Calls of NumPy that make float64, unless they are told otherwise, and the position of the size
# without which they make one number.
_MAKERS = {"normal": 2, "uniform": 2, "laplace": 2, "gamma": 2, "beta": 2, "exponential": 1}
_MAKERS |= {"random": 0, "standard_normal": 0, "rand": 0, "randn": 0, "random_sample": 0}
_MAKERS |= {"zeros": 0, "ones": 0, "linspace": 1}
# Calls of NumPy that make whole numbers.
_WHOLE = {"integers", "randint", "permutation", "argmax", "argmin", "argsort"}
# Functions and methods that give what they are given, of the same type.
_MOVING = {"reshape", "transpose", "concatenate", "stack", "vstack", "hstack", "expand_dims"}
_MOVING |= {"squeeze", "copy", "flatten", "ravel", "roll", "max", "min"}
# And those that give float64 for whole numbers, and the same type for floats.
_KEEPING = {"sin", "cos", "tanh", "exp", "log", "sqrt", "abs", "square", "sum", "mean", "std"}
_KEEPING |= {"cumsum", "clip", "maximum", "minimum", "dot", "matmul", "var", "log1p", "expm1"}
_OF_TWO = ("maximum", "minimum", "dot", "matmul")
_SINGLE = {"float32", "float16", "half", "single", "bfloat16"}
_INTEGER = {"int", "int32", "int64", "int8", "uint8", "bool"}
ENTRIES = ("from_tensor_slices", "from_tensors")


class Kind(Enum):
    """What the numbers of an array are, once its sources are single."""

    FLOAT = "float"
    WHOLE = "whole"
    UNKNOWN = "unknown"


class Doubles:
    """The calls that make the arrays of all datasets in double precision."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._kinds: dict[ast.AST, Kind] = {}
        self._sources: list[Source] = []

    def find(self) -> list[Source]:
        """Return the calls; none where some array cannot be followed."""
        entries = [
            (module, call)
            for module in self._program.modules()
            for call in module.all(ast.Call)
            if called_name(call) in ENTRIES and call.args
        ]
        kinds = [kind for s, call in entries for kind in self._of_parts(s, call.args[0])]
        return [] if Kind.UNKNOWN in kinds else self._sources

    def _of_parts(self, module: Module, value: ast.expr) -> list[Kind]:
        """Return the kinds of the arrays that an element of a dataset is made of."""
        if isinstance(value, ast.Tuple | ast.Dict):
            parts = value.elts if isinstance(value, ast.Tuple) else value.values
            return [self._of(module, part) for part in parts]
        return [self._of(module, value)]

    def _of(self, module: Module, value: ast.expr) -> Kind:
        """Return the kind of a value, and keep the calls that make it."""
        if value not in self._kinds:
            self._kinds[value] = Kind.FLOAT  # of a name that is made from itself
            self._kinds[value] = self._looked_at(module, value)
        return self._kinds[value]

    def _looked_at(self, module: Module, value: ast.expr) -> Kind:
        if isinstance(value, ast.Compare):
            return Kind.WHOLE
        if isinstance(value, ast.Tuple | ast.List):
            return self._same(module, value.elts)
        if isinstance(value, ast.BinOp):
            sides = [s for s in (value.left, value.right) if not _is_number(s)]
            kind = self._same(module, sides)
            return kind if kind is Kind.FLOAT else Kind.UNKNOWN
        if isinstance(value, ast.Subscript):
            return self._of(module, value.value)
        if isinstance(value, ast.UnaryOp):
            return self._of(module, value.operand)
        if isinstance(value, ast.Name):
            return self._of_name(module, value)
        return self._of_call(module, value) if isinstance(value, ast.Call) else Kind.UNKNOWN

    def _same(self, module: Module, values: list[ast.expr]) -> Kind:
        """Return the kind that all of some values have."""
        kinds = {self._of(module, value) for value in values}
        return kinds.pop() if len(kinds) == 1 else Kind.UNKNOWN

    def _of_name(self, module: Module, name: ast.Name) -> Kind:
        values = [_bound(module, node) for node in bindings_near(module, name)]
        known = [value for value in values if value is not None]
        return self._same(module, known) if len(known) == len(values) else Kind.UNKNOWN

    def _of_call(self, module: Module, call: ast.Call) -> Kind:
        name, is_method = called_name(call), isinstance(call.func, ast.Attribute)
        given = keyword_value(call, "dtype")
        if name == "astype" and call.args:
            given = call.args[0]
        if given is not None or any(_names(arg) & _SINGLE for arg in call.args):
            return _written_kind(given if given is not None else call)
        if name in _MAKERS and is_method:
            self._sources.append((module, call))
            is_array = len(call.args) > _MAKERS[name] or keyword_value(call, "size") is not None
            return Kind.FLOAT if is_array else Kind.UNKNOWN
        if name in (*_KEEPING, *_MOVING) and is_method:
            kind = self._same(module, _arrays(call))
            return kind if kind is Kind.FLOAT or name in _MOVING else Kind.UNKNOWN
        return Kind.WHOLE if name in _WHOLE and is_method else self._of_function(module, call)

    def _of_function(self, module: Module, call: ast.Call) -> Kind:
        """Return the kind of what a function of the project returns."""
        if not isinstance(call.func, ast.Name):
            return Kind.UNKNOWN
        owner, name = imported_from_project(module, call.func.id, self._program) or (
            module,
            call.func.id,
        )
        functions = [f for f in owner.all(ast.FunctionDef) if f.name == name]
        returns = [n.value for f in functions for n in ast.walk(f) if isinstance(n, ast.Return)]
        if len(functions) != 1 or not returns or None in returns:
            return Kind.UNKNOWN
        kinds = [k for v in returns if v is not None for k in self._of_parts(owner, v)]
        return Kind.UNKNOWN if Kind.UNKNOWN in kinds else kinds[0]


def _bound(module: Module, node: ast.AST) -> ast.expr | None:
    """Return the value that a place binds to its name."""
    parent = module.parent(node)
    if isinstance(parent, ast.Assign) and parent.targets == [node]:
        return parent.value
    if isinstance(parent, ast.AugAssign):
        return None if isinstance(parent.value, ast.Constant) else parent.value
    assign = module.parent(parent) if isinstance(parent, ast.Tuple) else None
    value = assign.value if isinstance(assign, ast.Assign) else None
    if not isinstance(value, ast.Tuple) or not isinstance(parent, ast.Tuple):
        return None
    pairs = zip(parent.elts, value.elts, strict=False)
    return next((given for target, given in pairs if target is node), None)


def _written_kind(kind: ast.AST) -> Kind:
    """Return the kind of a type that is written out, and is not double precision."""
    names = _names(kind)
    if names & _SINGLE:
        return Kind.FLOAT
    return Kind.WHOLE if names & _INTEGER else Kind.UNKNOWN


def _is_number(value: ast.expr) -> bool:
    """Tell whether a value is one of Python's numbers, which take on the type of an array."""
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    return isinstance(value, ast.Constant) or ast.unparse(value) in ("np.pi", "np.e", "math.pi")


def _arrays(call: ast.Call) -> list[ast.expr]:
    """Return the arrays that a function or a method works on."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(owner, ast.Name) and owner.id in ("np", "numpy"):
        given = call.args[:2] if called_name(call) in _OF_TWO else call.args[:1]
        return [arg for arg in given if not _is_number(arg)]
    return [owner] if owner is not None else []


def _names(node: ast.AST) -> set[str]:
    """Return the names and texts in a part of the code, such as `float32`."""
    parts = list(ast.walk(node))
    texts = {p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)}
    return texts | {name_of(p) for p in parts if isinstance(p, ast.Name | ast.Attribute)}
