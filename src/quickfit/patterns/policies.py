"""Which global policy of precision a piece of code runs under, as far as the text tells."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from quickfit.errors import SourceError
from quickfit.program import Module, Program, argument
from quickfit.program.together import together
from quickfit.program.values import Literal, Made, Value

MIXED_FLOAT16 = "mixed_float16"
# A policy that changes nothing, where it is only one of two ways.
_PLAIN = "float32"
_SETTERS = ("set_global_policy", "set_dtype_policy", "set_policy")
_SET = ("keras.mixed_precision.set_global_policy", "keras.mixed_precision.experimental.set_policy")
_POLICY = "keras.dtype_policies.DTypePolicy"


@dataclass(frozen=True)
class Setting:
    """A call that sets the policy; `names` are all it may set, empty for one nobody knows."""

    names: frozenset[str]
    call: ast.Call
    module: Module


_settings: WeakKeyDictionary[Program, list[Setting]] = WeakKeyDictionary()


def float16_setting(program: Program, module: Module, node: ast.AST) -> Setting | None:
    """Return the call because of which the layers made at a node compute in float16.

    None where no policy is set, where another one may hold, or where it is set behind the node.
    """
    if program not in _settings:
        _settings[program] = list(_all(program))
    if not _settings[program]:
        return None
    paths = together(program, module.path)
    found = [s for s in _settings[program] if s.module.path in paths and _is_run(program, s)]
    mixed = [s for s in found if MIXED_FLOAT16 in s.names]
    if not mixed or any(not s.names <= {MIXED_FLOAT16, _PLAIN} for s in found):
        return None
    if any(s.names == {_PLAIN} and not _is_conditional(s) for s in found):
        return None
    return next((s for s in mixed if _is_before(program, s, module, node)), None)


def policy_names(program: Program, module: Module, node: ast.expr | None) -> frozenset[str]:
    """Return the names of the policies that an expression may be, empty for one nobody knows."""
    return frozenset(_name(program, value) for value in program.values(module, node))


def _all(program: Program) -> list[Setting]:
    found: list[Setting] = []
    for path in program.files.paths:
        try:
            if not any(name in program.files.text(path) for name in _SETTERS):
                continue
            module = program.module(path)
        except SourceError:
            continue
        for call in module.calls(*_SETTERS):
            if program.called(module, call) in _SET:
                given = policy_names(program, module, _given(call))
                found.append(Setting(given, call, module))
    return found


def _given(call: ast.Call) -> ast.expr | None:
    return argument(call, "policy", 0) or argument(call, "dtype_policy", 0)


def _name(program: Program, value: Value) -> str:
    if isinstance(value, Literal) and isinstance(value.value, str):
        return value.value
    if isinstance(value, Made) and value.maker == _POLICY:
        name = program.literal(value.module, argument(value.call, "name", 0), value.frame)
        return name if isinstance(name, str) else ""
    return ""


def _is_run(program: Program, setting: Setting) -> bool:
    """Tell whether a setting is seen to be made: by the file itself, or by its function's call."""
    function = setting.module.function(setting.call)
    return function is None or bool(program.resolver.callers(setting.module, function))


def _is_conditional(setting: Setting) -> bool:
    return setting.module.around(setting.call, ast.If, ast.IfExp) is not None


def _is_before(program: Program, setting: Setting, module: Module, node: ast.AST) -> bool:
    """Tell whether a setting may be made before a node is run: not where the order is seen."""
    if setting.module is not module:
        return True
    outer, inner = module.function(setting.call), module.function(node)
    place = module.begin(setting.call)
    if outer is inner:
        return place < module.begin(node)
    if outer is not None or inner is None:
        calls = program.resolver.callers(module, outer) if outer is not None else []
        here = [c for m, c in calls if m is module and module.function(c) is inner]
        return not here or any(module.begin(c) < module.begin(node) for c in here)
    calls = program.resolver.callers(module, inner)
    here = [c for m, c in calls if m is module and module.function(c) is None]
    return not here or any(place < module.begin(c) for c in here)
