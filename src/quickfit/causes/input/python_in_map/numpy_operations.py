"""Writes expressions of NumPy as expressions of TensorFlow that give the same, up to rounding."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from quickfit.causes._shared.image_pipeline.values import Names, NotRecognisedError, code, number

_FLOATS = ("float32", "float64", "float", "double")
# Functions of one array that have the same name and meaning in `tf.math`.
_SAME = {"log", "log1p", "exp", "expm1", "sqrt", "sin", "cos", "tanh", "square", "sign", "floor"}
_SAME |= {"ceil", "abs"}
_REDUCTIONS = {"mean": "reduce_mean", "std": "math.reduce_std", "min": "reduce_min"}
_REDUCTIONS |= {"max": "reduce_max", "sum": "reduce_sum", "amin": "reduce_min"}
_REDUCTIONS |= {"amax": "reduce_max", "var": "math.reduce_variance"}
_WHOLE_NUMBERS_STAY = ("min", "max", "amin", "amax")
_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


@dataclass(frozen=True)
class Part:
    """An expression in TensorFlow.

    Args:
        text: the code.
        kind: `tensor`; `whole` for a tensor that NumPy may hold as whole numbers, which go around
            or are cut off where floats are not; `number` for one that is written out.
        is_simple: whether it needs no brackets.
    """

    text: str
    kind: str
    is_simple: bool = True


class Operations:
    """Translates expressions.

    Args:
        names: the names of the script.
        tf: the name of TensorFlow in it.
        kinds: the kinds of the names that are tensors.
    """

    def __init__(self, names: Names, tf: str, kinds: dict[str, str]) -> None:
        self.names = names
        self.tf = tf
        self.kinds = kinds

    def part(self, node: ast.expr) -> Part:
        """Return an expression in TensorFlow."""
        if number(node) is not None:
            return Part(code(node), "number", is_simple=not isinstance(node, ast.BinOp))
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            inner = self._float(node.operand)
            return Part(f"-{_held(inner)}", inner.kind, is_simple=False)
        if isinstance(node, ast.Subscript):
            return self._slice(node)
        if isinstance(node, ast.Attribute) and node.attr == "T":
            inner = self._tensor(node.value)
            return Part(f"{self.tf}.transpose({inner.text})", inner.kind)
        if isinstance(node, ast.Call):
            return self._call(node)
        raise NotRecognisedError

    def _name(self, node: ast.Name) -> Part:
        if node.id in self.kinds:
            return Part(node.id, self.kinds[node.id])
        value = self.names.assigned(node)
        if number(value) is not None:
            return Part(node.id, "number")
        call = self.names.qualified(value.func) if isinstance(value, ast.Call) else ""
        is_list = isinstance(value, ast.List) and all(number(e) is not None for e in value.elts)
        if not is_list and call not in ("numpy.array", "numpy.asarray"):
            raise NotRecognisedError
        return Part(f"{self.tf}.constant({node.id}, {self.tf}.float32)", "tensor")

    def _tensor(self, node: ast.expr) -> Part:
        found = self.part(node)
        if found.kind == "number":
            raise NotRecognisedError
        return found

    def _float(self, node: ast.expr) -> Part:
        """Return a tensor that NumPy holds as floats."""
        found = self.part(node)
        if found.kind == "whole":
            raise NotRecognisedError
        return found

    def _operation(self, node: ast.BinOp) -> Part:
        sign = _SIGNS.get(type(node.op), "")
        left, right = self.part(node.left), self.part(node.right)
        if not sign:
            raise NotRecognisedError
        if sign != "/" and "whole" in (left.kind, right.kind):
            other = node.right if left.kind == "whole" else node.left
            is_whole_too = left.kind == right.kind or (
                isinstance(other, ast.Constant) and isinstance(other.value, int)
            )
            if is_whole_too or isinstance(node.op, ast.Pow):
                raise NotRecognisedError
            if isinstance(other, ast.Name) and "number" in (left.kind, right.kind):
                raise NotRecognisedError  # a number of which it is not known whether it is whole
        kinds = {left.kind, right.kind}
        kind = "number" if kinds == {"number"} else "tensor"
        return Part(f"{_held(left)} {sign} {_held(right)}", kind, is_simple=False)

    def _slice(self, node: ast.Subscript) -> Part:
        base = self._tensor(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for part in parts:
            bounds = [part.lower, part.upper, part.step] if isinstance(part, ast.Slice) else [part]
            for bound in bounds:
                if bound is not None and not self._is_place(bound):
                    raise NotRecognisedError
        text = code(node.slice).removeprefix("(").removesuffix(")")
        return Part(f"{_held(base)}[{text.replace('np.newaxis', 'None')}]", base.kind)

    def _is_place(self, node: ast.expr) -> bool:
        if code(node) in ("...", "None", "np.newaxis"):
            return True
        if isinstance(node, ast.Name) and node.id in self.kinds:
            return False
        value = self.names.assigned(node) if isinstance(node, ast.Name) else node
        found = number(value)
        return found is not None and found == int(found) and not isinstance(value, ast.BinOp)

    # -- calls ------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Part:
        name = self.names.qualified(node.func)
        if name.startswith("numpy.") and node.args:
            return self._function(name.removeprefix("numpy."), node, list(node.args))
        if isinstance(node.func, ast.Attribute):
            if node.func.attr == "numpy" and not node.args:
                return self._tensor(node.func.value)
            return self._function(node.func.attr, node, [node.func.value, *node.args])
        raise NotRecognisedError

    def _function(self, name: str, node: ast.Call, args: list[ast.expr]) -> Part:
        named = {k.arg: k.value for k in node.keywords}
        tf, first = self.tf, self._tensor(args[0]) if not isinstance(args[0], ast.List) else None
        if first is None:
            return self._joined(name, args, named)
        if name in ("astype", "float32", "asarray", "array"):
            given = [*args[1:], *([named["dtype"]] if set(named) == {"dtype"} else [])]
            is_bare = len(given) == 0 and not named
            if name == "float32" and is_bare:
                return Part(first.text, "tensor", is_simple=first.is_simple)
            if name in ("array", "asarray") and is_bare:
                return first
            if len(given) != 1 or _type(given[0]) not in _FLOATS:
                raise NotRecognisedError
            return Part(first.text, "tensor", is_simple=first.is_simple)
        if name in _REDUCTIONS:
            kind = first.kind if name in _WHOLE_NUMBERS_STAY else "tensor"
            if name == "sum" and first.kind == "whole":
                raise NotRecognisedError
            return self._reduced(name, first, args[1:], named, kind)
        if name in _SAME and len(args) == 1 and not named:
            if name in ("abs", "square", "sign", "floor", "ceil") and first.kind == "whole":
                raise NotRecognisedError
            return Part(f"{tf}.math.{name}({first.text})", "tensor")
        if name == "clip" and len(args) == 3 and not named:
            ends = [self.part(a) for a in args[1:]]
            if first.kind == "whole" or any(e.kind != "number" for e in ends):
                raise NotRecognisedError
            texts = ", ".join([first.text, *(e.text for e in ends)])
            return Part(f"{tf}.clip_by_value({texts})", "tensor")
        return self._moved(name, first, args, named)

    def _reduced(
        self, name: str, first: Part, more: list[ast.expr], named: dict[str | None, ast.expr],
        kind: str,
    ) -> Part:  # fmt: skip
        if len(more) > 1 or set(named) - {"axis", "keepdims"}:
            raise NotRecognisedError
        given = ([f"axis={code(more[0])}"] if more else []) + [
            f"{key}={code(value)}" for key, value in named.items()
        ]
        values = [*more, *named.values()]
        if any(not _is_written_out(value) for value in values):
            raise NotRecognisedError
        return Part(f"{self.tf}.{_REDUCTIONS[name]}({', '.join([first.text, *given])})", kind)

    def _moved(
        self, name: str, first: Part, args: list[ast.expr], named: dict[str | None, ast.expr]
    ) -> Part:
        """Return a call that gives the same numbers in another order or shape."""
        given = [*args[1:], *named.values()]
        if any(not _is_written_out(value) for value in given):
            raise NotRecognisedError
        one = code(given[0]) if len(given) == 1 else ""
        texts = {
            ("transpose", "axes"): f"{self.tf}.transpose({first.text}, {one})",
            ("expand_dims", "axis"): f"{self.tf}.expand_dims({first.text}, {one})",
            ("reshape", "shape"): f"{self.tf}.reshape({first.text}, {one})",
            ("flip", "axis"): f"{self.tf}.reverse({first.text}, [{one}])",
        }
        for (known, key), text in texts.items():
            if name == known and one and set(named) <= {key}:
                if known == "flip" and number(given[0]) is None:
                    raise NotRecognisedError
                return Part(text, first.kind)
        raise NotRecognisedError

    def _joined(self, name: str, args: list[ast.expr], named: dict[str | None, ast.expr]) -> Part:
        known = {"stack": "stack", "concatenate": "concat"}
        parts = args[0].elts if isinstance(args[0], ast.List) else []
        axis = [*args[1:], *([named["axis"]] if set(named) == {"axis"} else [])]
        found = [self._tensor(part) for part in parts]
        is_odd = len(axis) > 1 or any(number(a) is None for a in axis) or set(named) - {"axis"}
        if name not in known or not found or is_odd or len({p.kind for p in found}) != 1:
            raise NotRecognisedError
        texts = ", ".join(part.text for part in found)
        at = code(axis[0]) if axis else "0"
        return Part(f"{self.tf}.{known[name]}([{texts}], axis={at})", found[0].kind)


def _held(part: Part) -> str:
    return part.text if part.is_simple else f"({part.text})"


def _type(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else code(node).rsplit(".", 1)[-1]


def _is_written_out(node: ast.expr) -> bool:
    """Tell whether a value is a number, a truth value or a tuple of numbers."""
    if isinstance(node, ast.Tuple | ast.List):
        return all(number(element) is not None for element in node.elts)
    is_truth = isinstance(node, ast.Constant) and isinstance(node.value, bool)
    return is_truth or number(node) is not None
