"""What names in a script stand for: modules by their imports, values that are assigned once."""

from __future__ import annotations

import ast
import re
from functools import cached_property

from quickfit.fixes.image_values import assignment, code
from quickfit.fixes.script import Function, Script

# What `tf.io.decode_jpeg` does not read, or reads otherwise than Pillow.
_OTHER_FILES = re.compile(
    r"\.(bmp|gif|tiff?|webp|ppm|pgm|heic|jp2|exr|npy|npz|dcm)\b", re.IGNORECASE
)


class Names:
    """The names of one script."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.has_tables = "pandas" in script.text
        self.imports: dict[str, str] = {}
        for node in script.all(ast.Import):
            for alias in node.names:
                top = alias.name if alias.asname else alias.name.split(".")[0]
                self.imports[alias.asname or top] = top
        for found in script.all(ast.ImportFrom):
            for alias in found.names:
                name = f"{found.module or ''}.{alias.name}"
                self.imports[alias.asname or alias.name] = name

    def qualified(self, node: ast.expr) -> str:
        """Return the full name of what an expression names, such as `PIL.Image.open`; or ''."""
        if isinstance(node, ast.Name):
            return self.imports.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            before = self.qualified(node.value)
            return f"{before}.{node.attr}" if before else ""
        return ""

    def function(self, name: str) -> Function | None:
        """Return the only function of a name, not a method."""
        found = [f for f in self.script.all(ast.FunctionDef) if f.name == name]
        found = [f for f in found if not isinstance(self.script.parent(f), ast.ClassDef)]
        return found[0] if len(found) == 1 and name not in self._bound_otherwise else None

    @cached_property
    def _bound_otherwise(self) -> set[str]:
        """Names that are assigned to somewhere."""
        stores = [n.id for n in self.script.all(ast.Name) if isinstance(n.ctx, ast.Store)]
        return {*stores, *self.imports}

    def assigned(self, node: ast.expr, scope: Function | None = None) -> ast.expr | None:
        """Return the value of a name or attribute that is assigned in one place only.

        A name of a function is looked for there first, then at the top of the file.
        """
        key = code(node)
        if isinstance(node, ast.Name):
            for place in (scope, self.script.tree):
                if place is None:
                    continue
                if isinstance(place, ast.FunctionDef) and key in parameters(place):
                    return None
                found = self._assignments(key, place)
                if found:
                    return found[0] if len(found) == 1 else None
            return None
        found = self._assignments(key, self.script.tree)
        if not found and isinstance(node, ast.Attribute):
            return self._class_attribute(node)
        return found[0] if len(found) == 1 else None

    def _class_attribute(self, node: ast.Attribute) -> ast.expr | None:
        """Return the value that a class of settings, or its only instance, has by a name."""
        owner = node.value
        if not isinstance(owner, ast.Name):
            return None
        classes = {c.name: c for c in self.script.all(ast.ClassDef)}
        if owner.id not in classes:
            made = self.assigned(owner)
            if not isinstance(made, ast.Call) or made.args or made.keywords:
                return None
            owner = made.func
        found = classes.get(code(owner))
        stored = [n for n in self.script.all(ast.Attribute) if n.attr == node.attr]
        if found is None or any(not isinstance(n.ctx, ast.Load) for n in stored):
            return None
        values = [v for s in found.body for t, v in (_pair(s),) if t == node.attr]
        return values[0] if len(values) == 1 else None

    def _assignments(self, key: str, place: ast.AST) -> list[ast.expr | None]:
        """Return what is assigned to a name in a function or at the top; None for what is not."""
        found: list[ast.expr | None] = []
        for node in ast.walk(place):
            targets, value = _bound(node)
            inside = self.script.around(node, ast.FunctionDef)
            is_here = isinstance(place, ast.FunctionDef) or inside is None or "." in key
            if not targets or not is_here:
                continue
            for target in targets:
                if code(target) == key:
                    found.append(value)
                elif isinstance(target, ast.Tuple | ast.List):
                    found += self._part(target, value, key)
        return found

    def _part(
        self, target: ast.Tuple | ast.List, value: ast.expr | None, key: str
    ) -> list[ast.expr | None]:
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
            pairs = zip(target.elts, value.elts, strict=True)
            return [given for part, given in pairs if code(part) == key]
        return [
            None for part in ast.walk(target) if isinstance(part, ast.expr) and code(part) == key
        ]

    def may_be_table(self, node: ast.expr, scope: Function | None = None) -> bool:
        """Tell whether `node[i]` may be a row that a table calls `i`, and not the i-th one."""
        if not self.has_tables or (isinstance(node, ast.Attribute) and node.attr == "iloc"):
            return False
        value = self.assigned(node, scope) if isinstance(node, ast.Name | ast.Attribute) else node
        if isinstance(value, ast.List | ast.ListComp | ast.Dict):
            return False
        if isinstance(value, ast.Attribute):
            return value.attr != "values"
        name = self.qualified(value.func) if isinstance(value, ast.Call) else ""
        name = name.rsplit(".", 1)[-1]
        return name not in ("sorted", "list", "glob", "array", "asarray", "tolist", "to_numpy")

    def reads_only_photos(self) -> bool:
        """Tell whether no text of the script names a type of file that may be read otherwise."""
        texts = [c.value for c in self.script.all(ast.Constant) if isinstance(c.value, str)]
        return not any(_OTHER_FILES.search(text) for text in texts)

    def reads_only_jpeg(self) -> bool:
        """Tell whether the texts of the script name JPEG files and no others."""
        texts = [c.value for c in self.script.all(ast.Constant) if isinstance(c.value, str)]
        has_jpeg = any(re.search(r"\.jpe?g\b", text, re.IGNORECASE) for text in texts)
        return has_jpeg and not any(".png" in text.lower() for text in texts)

    def is_text(self, node: ast.expr, scope: Function | None = None) -> bool:
        """Tell whether an expression is a text or a list of texts, and of no other paths."""
        if isinstance(node, ast.JoinedStr):
            return True
        if isinstance(node, ast.Call):
            name = self.qualified(node.func)
            if name in ("str", "os.path.join", "glob.glob", "os.listdir"):
                return True
            if name in ("sorted", "list", "numpy.array") and node.args:
                return self.is_text(node.args[0], scope)
            return False
        if isinstance(node, ast.ListComp):
            return self.is_text(node.elt, scope)
        if isinstance(node, ast.Name | ast.Attribute):
            value = self.assigned(node, scope)
            return value is not None and self.is_text(value, scope)
        return False

    def image_shape(self) -> str:
        """Return the shape of one picture as code, where every input of a model has the same."""
        shapes = [s for call in self.script.all(ast.Call) for s in _shapes(call)]
        found = {code(shape) for shape in shapes if isinstance(shape, ast.Tuple)}
        return found.pop() if len(found) == 1 and len(shapes) > 0 else ""


def _pair(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """Return the name that a statement gives a value, and the value."""
    found = assignment(statement)
    return (code(found[0]), found[1]) if found is not None else ("", None)


def parameters(function: Function) -> list[str]:
    """Return the names of a function's parameters."""
    given = function.args
    return [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]


def _bound(node: ast.AST) -> tuple[list[ast.expr], ast.expr | None]:
    """Return what a statement assigns to, and the value where it is one expression."""
    if isinstance(node, ast.Assign):
        return node.targets, node.value
    if isinstance(node, ast.AnnAssign):
        return [node.target], node.value
    if isinstance(node, ast.AugAssign | ast.For | ast.AsyncFor | ast.comprehension):
        return [node.target], None
    if isinstance(node, ast.With):
        return [i.optional_vars for i in node.items if i.optional_vars], None
    if isinstance(node, ast.NamedExpr):
        return [node.target], None
    return [], None


def _shapes(call: ast.Call) -> list[ast.expr]:
    """Return the shapes of three numbers that a call gives to a model."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given = [k.value for k in call.keywords if k.arg == "input_shape"]
    if name in ("Input", "InputLayer"):
        given += call.args[:1]
        given += [k.value for k in call.keywords if k.arg == "shape"]
    return [g for g in given if isinstance(g, ast.Tuple) and len(g.elts) == 3]
