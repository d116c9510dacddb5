"""Tells whether code of a script means the same inside a compiled function."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Sequence

from quickfit.code.module import Module
from quickfit.code.scopes import (
    binders,
    dotted,
    import_path,
    loops_around,
    only_value,
    parameters,
    scope_of,
    value_of,
    writes,
)
from quickfit.code.syntax import Def

# They keep to Python's own structures while a function is traced.
GRAPH_BUILTINS = {
    "zip", "len", "enumerate", "range", "isinstance", "sum", "abs", "list", "tuple", "dict",
    "reversed",
}  # fmt: skip
# Methods of tapes, optimizers, metrics, variables and dicts.
GRAPH_METHODS = {
    "gradient", "jacobian", "batch_jacobian", "watch", "stop_recording", "reset", "apply_gradients",
    "apply", "update_state", "result", "assign", "assign_add", "assign_sub", "get_shape",
    "as_list", "items", "keys", "values", "scale_loss", "get_scaled_loss",
    "get_unscaled_gradients", "compute_loss", "add_loss", "set_shape", "read_value",
}  # fmt: skip
# Parts of a path that make variables, touch files, or have to do with Python itself.
_OUTSIDE = {
    "Variable", "py_function", "numpy_function", "summary", "config", "function", "data", "io",
    "init_scope", "layers", "models", "optimizers", "metrics", "Sequential", "Model", "Input",
    "callbacks", "datasets", "utils", "initializers", "distribute", "saved_model", "train",
    "experimental", "executing_eagerly", "get_static_value", "make_ndarray", "Module", "queue",
    "lookup", "autograph", "backend", "compat", "constraints", "applications", "preprocessing",
    "mixed_precision", "regularizers", "profiler", "debugging", "keras_hub", "keras_cv", "saving",
    "device", "set_seed", "Generator", "get_global_generator", "from_non_deterministic_state",
    "create_rng_state", "set_global_generator", "SeedGenerator", "gfile", "raw_ops", "timestamp",
    "print", "while_loop", "xla", "feature_column", "estimator", "tree", "convert_to_numpy",
    "py_func", "switch_case", "case", "Tensor", "StatelessScope", "quantizers", "export",
    "dtensor", "sysconfig", "tpu", "types", "version", "Graph", "load_op_library", "load_library",
}  # fmt: skip
_MATHS = {
    "ops", "losses", "activations", "random", "math", "nn", "linalg", "image", "signal", "strings",
    "GradientTape", "sparse", "ragged", "bitwise", "sets", "audio", "name_scope",
}  # fmt: skip


def is_graph_path(path: str) -> bool:
    """Tell whether calling `tensorflow.math.exp`, `keras.ops.mean` and so on can be compiled."""
    library, *parts = path.split(".")
    if library not in ("tensorflow", "keras", "tf_keras") or not parts or _OUTSIDE & set(parts):
        return False
    parts = parts[1:] if parts[0] == "keras" else parts
    is_keras = library != "tensorflow" or len(parts) != len(path.split(".")) - 1
    if not parts or (len(parts) > 1 and parts[0] not in _MATHS):
        return False
    return len(parts) > 1 or not is_keras


def is_random_path(path: str) -> bool:
    """Tell whether a function draws numbers that are others in a graph than one by one."""
    last = path.rpartition(".")[2]
    is_random = ".random." in path or "random" in last or last.endswith("dropout")
    return is_random and not path.startswith("keras.") and "stateless" not in last


_CHANGING = {"append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "sort"}
_LISTS = {"trainable_variables", "trainable_weights", "variables", "weights", "metrics", "layers"}


def stored_names(body: Sequence[ast.stmt]) -> set[str]:
    """Return every name that is bound inside, also by comprehensions and lambdas."""
    names = writes(*body)
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            if isinstance(node, ast.Lambda):
                names |= set(parameters(node))
    return names


def is_settled(test: ast.expr, given: set[str], local: set[str]) -> bool:
    """Tell whether a test asks only what is known while a function is traced."""
    if isinstance(test, ast.BoolOp):
        return all(is_settled(value, given, local) for value in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return is_settled(test.operand, given, local)
    if isinstance(test, ast.Compare):
        if all(isinstance(op, ast.Is | ast.IsNot) for op in test.ops):
            return True
        return all(is_settled(v, given, local) for v in (test.left, *test.comparators))
    if isinstance(test, ast.Call):
        return dotted(test.func) == "isinstance"
    if isinstance(test, ast.Attribute):
        return dotted(test).startswith("self.") and dotted(test).count(".") == 1
    # A parameter may be a tensor; a constant of the file is no tensor by its capitals.
    is_flag = isinstance(test, ast.Name) and test.id in given - local
    is_constant = isinstance(test, ast.Name) and test.id.isupper() and test.id not in local
    return isinstance(test, ast.Constant) or is_constant or is_flag


def flags_of(function: Def) -> set[str]:
    """Return the parameters that are true or false by their defaults, and `training`."""
    args = function.args
    places = [*args.posonlyargs, *args.args]
    pairs = [*zip(reversed(places), reversed(args.defaults), strict=False)]
    pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d]
    flags = {a.arg for a, d in pairs if isinstance(d, ast.Constant) and type(d.value) is bool}
    return (flags | ({"training"} & set(parameters(function)))) - writes(*function.body)


def is_own_container(node: ast.Attribute | ast.Subscript, body: Sequence[ast.stmt]) -> bool:
    """Tell whether something is stored in a list or dict that the same code made."""
    if not isinstance(node.value, ast.Name):
        return False
    made = [
        s.value
        for statement in body
        for s in ast.walk(statement)
        if isinstance(s, ast.Assign)
        and any(isinstance(t, ast.Name) and t.id == node.value.id for t in s.targets)
    ]
    return bool(made) and all(
        isinstance(v, ast.List | ast.Dict | ast.ListComp | ast.DictComp) for v in made
    )


def is_unrolled(iterated: ast.expr) -> bool:
    """Tell whether a loop over this is one of Python, also while it is traced."""
    if isinstance(iterated, ast.Call):
        return dotted(iterated.func) in ("zip", "enumerate", "range", "reversed") and not any(
            isinstance(n, ast.Call) and dotted(n.func) not in ("zip", "len", "range")
            for a in iterated.args
            for n in ast.walk(a)
        )
    return isinstance(iterated, ast.List | ast.Tuple) or (
        isinstance(iterated, ast.Attribute) and iterated.attr in _LISTS
    )


def is_static_shape(value: ast.expr) -> bool:
    """Tell whether an expression is `x.shape[0]` or the like."""
    inner = value.value if isinstance(value, ast.Subscript) else value
    return isinstance(inner, ast.Attribute) and inner.attr == "shape"


def changed_container(node: ast.AST) -> ast.expr | None:
    """Return what a node changes in place: `held[0] = ...` or `held.append(...)`."""
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return node.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr in _CHANGING else None
    return None


def sets_by_name(node: ast.AST, attribute: str) -> bool:
    """Tell whether a node may be `setattr(thing, "attribute", ...)`, or the like."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("__dict__", "__setattr__")
    if not isinstance(node, ast.Call) or dotted(node.func) not in ("setattr", "vars"):
        return False
    name = node.args[1] if len(node.args) == 3 else None
    return not isinstance(name, ast.Constant) or name.value == attribute


_FORBIDDEN = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Try, ast.While, ast.Break,
    ast.Continue, ast.JoinedStr, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import,
    ast.ImportFrom, ast.Assert, ast.Raise, ast.AsyncFor, ast.AsyncWith, ast.NamedExpr, ast.Match,
)  # fmt: skip
# Keras and TensorFlow look after these.
_STEADY_ATTRIBUTES = {"trainable_variables", "trainable_weights", "shape", "dtype"}
_LIBRARIES = ("tensorflow.", "keras.", "tf_keras.")
_MAKERS = ("__init__", "build", "__post_init__")


class GraphCode:
    """The code of a project, asked whether parts of it can be compiled.

    Args:
        scripts: all files of the project.
    """

    def __init__(self, modules: Sequence[Module]) -> None:
        self.modules = modules
        self.is_random = False
        self._known: dict[ast.AST, bool] = {}

    def is_legal_function(self, module: Module, function: Def) -> bool:
        """Tell whether all of a function, and of what it calls, can be compiled."""
        if function in self._known:
            return self._known[function]
        self._known[function] = True  # while it is asked: a function may call itself
        defaults = [d for d in (*function.args.defaults, *function.args.kw_defaults) if d]
        self._known[function] = all(
            isinstance(d, ast.Constant | ast.Attribute) for d in defaults
        ) and self.is_legal(module, function.body, parameters(function), flags_of(function))
        return self._known[function]

    def is_legal(
        self,
        module: Module,
        body: Sequence[ast.stmt],
        given: Iterable[str],
        flags: Iterable[str] = (),
    ) -> bool:
        """Tell whether statements can be the body of a compiled function with such parameters."""
        local = {*given, *stored_names(body)}
        nodes = [node for statement in body for node in ast.walk(statement)]
        return (
            not any(isinstance(node, _FORBIDDEN) for node in nodes)
            and all(self._is_steady(module, n, local) for n in nodes)
            and all(
                self._is_legal_node(module, n, body, set(given), local - set(flags)) for n in nodes
            )
        )

    def _is_legal_node(
        self, module: Module, node: ast.AST, body: Sequence[ast.stmt], given: set[str],
        local: set[str],
    ) -> bool:  # fmt: skip
        if isinstance(node, ast.Call):
            return self._is_legal_call(module, node, body, local)
        if isinstance(node, ast.If | ast.IfExp):
            return is_settled(node.test, given, local)
        if isinstance(node, ast.BoolOp):
            return is_settled(node, given, local)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return is_settled(node, given, local)
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return is_own_container(node, body)
        if isinstance(node, ast.AugAssign):
            # A NumPy array that is given would be changed in place.
            return isinstance(node.target, ast.Name) and node.target.id not in given
        if isinstance(node, ast.For):
            return is_unrolled(node.iter)
        if isinstance(node, ast.With):
            return all(self._is_tape(module, item) for item in node.items)
        return True

    def _is_tape(self, module: Module, item: ast.withitem) -> bool:
        call = item.context_expr
        path = import_path(module, dotted(call.func)) if isinstance(call, ast.Call) else ""
        return path.endswith((".GradientTape", ".name_scope"))

    # -- calls ------------------------------------------------------------------------------

    def _is_legal_call(
        self, module: Module, call: ast.Call, body: Sequence[ast.stmt], local: set[str]
    ) -> bool:
        name = dotted(call.func)
        path = import_path(module, name)
        if path.startswith(_LIBRARIES):
            self.is_random = self.is_random or is_random_path(path)
            return is_graph_path(path)
        if isinstance(call.func, ast.Call):  # `keras.losses.MeanSquaredError()(y, z)`
            return self._is_legal_call(module, call.func, body, local)
        if name in ("int", "float") and len(call.args) == 1:
            return is_static_shape(call.args[0])
        if name in GRAPH_BUILTINS and name not in local:
            return True
        if isinstance(call.func, ast.Attribute):
            return self._is_legal_method(module, call.func, body)
        return isinstance(call.func, ast.Name) and self._is_legal_name(module, call.func, local)

    def _is_legal_method(
        self, module: Module, method: ast.Attribute, body: Sequence[ast.stmt]
    ) -> bool:
        own = self.functions(method.attr)
        if own:
            return all(self.is_legal_function(*one) for one in own)
        if method.attr in ("append", "extend"):
            return is_own_container(method, body)
        if method.attr in GRAPH_METHODS:
            return True
        return self._are_objects(self._stores(method.attr)) and self.are_calls_legal()

    def _is_legal_name(self, module: Module, callee: ast.Name, local: set[str]) -> bool:
        """Tell whether calling a name runs operations: a function, a model, a loss."""
        if any(callee.id == c.name for s in self.modules for c in s.all(ast.ClassDef)):
            return False  # a new object in every call
        path = import_path(module, callee.id)
        own = self.functions(path.rpartition(".")[2] if path else callee.id)
        if own:
            return all(self.is_legal_function(*one) for one in own)
        if path:
            return False
        scope = scope_of(module, callee)
        while True:
            if isinstance(scope, Def) and callee.id in parameters(scope):
                return self._is_model(callee.id) or self._is_given_objects(scope, callee.id)
            found = binders(scope, callee.id)
            if found or isinstance(scope, ast.Module):
                values = [(module, value_of(module, node)) for node in found]
                return self._are_objects(values) and self.are_calls_legal()
            scope = scope_of(module, scope)

    def are_calls_legal(self) -> bool:
        """Tell whether the layers and models that the project defines can all be compiled."""
        own = [*self.functions("call"), *self.functions("__call__")]
        return all(self.is_legal_function(*one) for one in own)

    def _is_model(self, name: str) -> bool:
        """Tell whether the project asks such a name for its weights."""
        attributes = (n for s in self.modules for n in s.all(ast.Attribute))
        asked = {"trainable_variables", "trainable_weights"}
        is_asked = any(n.attr in asked and dotted(n.value) == name for n in attributes)
        return is_asked and self.are_calls_legal()

    def _is_given_objects(self, function: Def, name: str) -> bool:
        """Tell whether every call gives a loss or model for a parameter."""
        values: list[tuple[Module, ast.expr | None]] = []
        for module in self.modules:
            for call in module.all(ast.Call):
                if dotted(call.func).rpartition(".")[2] == function.name:
                    given = argument_for_parameter(call, function, name)
                    values.append((module, self._meant(module, given)))
        return self._are_objects(values) and self.are_calls_legal()

    def is_object_call(self, module: Module, callee: ast.expr) -> bool:
        """Tell whether what is called is a model, layer or loss, which gives tensors."""
        if isinstance(callee, ast.Attribute):
            stores = self._stores(callee.attr)
            return not self.functions(callee.attr) and self._are_objects(stores)
        if not isinstance(callee, ast.Name) or self.functions(callee.id):
            return False
        value = self._meant(module, callee)
        return value is not None and self._is_object(module, value)

    def _meant(self, module: Module, value: ast.expr | None) -> ast.expr | None:
        if not isinstance(value, ast.Name):
            return value
        scope = scope_of(module, value)
        found = binders(scope, value.id) or binders(module.tree, value.id)
        return value_of(module, found[0]) if len(found) == 1 else None

    def _are_objects(self, values: Sequence[tuple[Module, ast.expr | None]]) -> bool:
        return bool(values) and all(self._is_object(*one) for one in values)

    def _is_object(self, module: Module, value: ast.expr | None) -> bool:
        """Tell whether a value is a Keras object, one of the project's, or what was given."""
        if isinstance(value, ast.Call):
            path = import_path(module, dotted(value.func))
            if path.startswith(_LIBRARIES):
                return True
            alias = only_value(module, module.tree, dotted(value.func))
            if alias is not None and import_path(module, dotted(alias)).startswith(_LIBRARIES):
                return True
            name = (path or dotted(value.func)).rpartition(".")[2]
            classes = {c.name for s in self.modules for c in s.all(ast.ClassDef)}
            return name in classes or bool(self.functions(name))
        if isinstance(value, ast.Attribute):
            return is_graph_path(import_path(module, dotted(value)))
        return isinstance(value, ast.Name) and (
            value.id in parameters_around(module, value) or self._is_model(value.id)
        )

    def functions(self, name: str) -> list[tuple[Module, Def]]:
        """Return the project's functions and methods of a name."""
        return [
            (module, node)
            for module in self.modules
            for node in module.all(ast.FunctionDef) + module.all(ast.AsyncFunctionDef)
            if node.name == name
        ]

    # -- state ------------------------------------------------------------------------------

    def _is_steady(self, module: Module, node: ast.AST, local: set[str]) -> bool:
        """Tell whether what a node reads is the same in every call."""
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in local:
            return self.is_steady_name(module, node)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            if node.attr in _STEADY_ATTRIBUTES:
                return True
            if import_path(module, dotted(node)).startswith(_LIBRARIES):
                return True
            # A method, or a property, which may compute another value each time.
            own = all(self.is_legal_function(*one) for one in self.functions(node.attr))
            return own and self._is_steady_attribute(node)
        return True

    def is_steady_name(self, module: Module, node: ast.Name) -> bool:
        """Tell whether a name from outside is bound once, before anything is trained."""
        scope = scope_of(module, node)
        while True:
            bound = binders(scope, node.id)
            is_given = isinstance(scope, Def) and node.id in parameters(scope)
            if bound or is_given or isinstance(scope, ast.Module):
                break
            scope = scope_of(module, scope)
        if not bound and not is_given:
            return hasattr(builtins, node.id)
        if bound and all(isinstance(b, ast.Import | ast.ImportFrom) for b in bound):
            return not self._is_changed(node.id)
        is_once = len(bound) + is_given == 1 and not any(loops_around(module, b) for b in bound)
        # A counter, `x += 1`, and `del x` bind the name a second time.
        return is_once and not self._is_global(node.id) and not self._is_changed(node.id)

    def _is_global(self, name: str) -> bool:
        nodes = (n for module in self.modules for n in ast.walk(module.tree))
        return any(isinstance(n, ast.Global | ast.Nonlocal) and name in n.names for n in nodes)

    def _is_steady_attribute(self, node: ast.Attribute) -> bool:
        stores = [n for _, n in self._attribute_nodes(node.attr) if not _is_load(n)]
        is_set = any(sets_by_name(n, node.attr) for s in self.modules for n in ast.walk(s.tree))
        is_made = all(self._is_in_maker(n) for n in stores)
        return is_made and not is_set and not self._is_changed(node.attr)

    def _is_changed(self, name: str) -> bool:
        """Tell whether a list or dict of a name is changed inside a loop or a function."""
        for module in self.modules:
            for node in ast.walk(module.tree):
                held = changed_container(node)
                if held is None or dotted(held).rpartition(".")[2] != name:
                    continue
                scope = scope_of(module, node)
                is_early = isinstance(scope, ast.Module) or scope.name in _MAKERS
                if not is_early or loops_around(module, node):
                    return True
        return False

    def _stores(self, attribute: str) -> list[tuple[Module, ast.expr | None]]:
        """Return what is assigned to an attribute of a name, anywhere."""
        nodes = self._attribute_nodes(attribute)
        return [(module, value_of(module, node)) for module, node in nodes if not _is_load(node)]

    def _attribute_nodes(self, attribute: str) -> list[tuple[Module, ast.Attribute]]:
        return [(s, n) for s in self.modules for n in s.all(ast.Attribute) if n.attr == attribute]

    def _is_in_maker(self, node: ast.AST) -> bool:
        module = next(s for s in self.modules if s.parent(node) is not None)
        scope = scope_of(module, node)
        return isinstance(scope, Def) and scope.name in _MAKERS


def argument_for_parameter(call: ast.Call, function: Def, name: str) -> ast.expr | None:
    """Return the expression that a call gives for a parameter; None where it is not told."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    if name not in names or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    place = names.index(name)
    return call.args[place] if place < len(call.args) else None


def parameters_around(module: Module, node: ast.AST) -> set[str]:
    """Return the parameters of the function that a node stands in."""
    scope = scope_of(module, node)
    return set(parameters(scope)) if isinstance(scope, Def) else set()


def _is_load(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)
