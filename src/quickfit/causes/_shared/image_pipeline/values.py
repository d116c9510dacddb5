"""What names and expressions of an image input stand for: an item, a batch, a picture, a place."""

from __future__ import annotations

import ast
import copy
import re
from dataclasses import dataclass, field, replace
from functools import cached_property

from quickfit.code.module import Module
from quickfit.code.syntax import Def, parameter_names

# The number of an item among all items, in expressions of one item.
INDEX = "item_number"
# The same where it is a key of something that may be a table, whose rows may have other keys.
KEY = "item_key"


class NotRecognisedError(Exception):
    """The code is not one that is understood with certainty; nothing is edited then."""


@dataclass(frozen=True)
class Line:
    """A line of the new code, and the line of the user's file that it comes from."""

    text: str
    origin: int


@dataclass(frozen=True)
class Plain:
    """What is the same for every item, such as a size or a list of all paths."""

    node: ast.expr


@dataclass(frozen=True)
class Item:
    """What one item has, such as its path: an expression of its number.

    Args:
        node: the expression, with `INDEX` for the number.
        orders: the shuffles that the number has gone through.
    """

    node: ast.expr
    orders: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Group:
    """Several values in a tuple."""

    values: tuple[Value, ...]


@dataclass(frozen=True)
class Many:
    """A value per item, of all items or of those of a batch.

    Args:
        item: the value of one item.
        is_batch: whether it holds a batch.
        wraps: code around the list of all items, in the order of the calls.
        is_array: whether NumPy has made an array of the list.
    """

    item: Value
    is_batch: bool = False
    wraps: tuple[str, ...] = ()
    is_array: bool = False


@dataclass(frozen=True)
class Empty:
    """A list that nothing has been appended to."""


@dataclass(frozen=True)
class Blank:
    """An array made before it is filled, with its length and type as code."""

    length: ast.expr
    rank: int
    dtype: str
    last: ast.expr | None = None


@dataclass(frozen=True)
class Start:
    """A number of items or of batches: so many batches behind the begin of this one."""

    batches: int
    counts_batches: bool = False


@dataclass(frozen=True)
class Window:
    """A slice that takes the items of this batch."""


@dataclass(frozen=True)
class Place:
    """The place of an item in its batch."""


@dataclass(frozen=True)
class Picture:
    """A picture on its way from a file to the model.

    Args:
        path: the file.
        lines: TensorFlow code up to here, which calls it `image`.
        library: `pil` or `cv2`.
        mode: `RGB`, `L`, or `?` where it is what the file has.
        dtype: the type that NumPy would have; `pil` as long as it is no array.
        is_float: whether the tensor is float32; else it is uint8.
        is_flat: whether the array has no axis of channels.
        is_bgr: whether OpenCV's order of channels is yet to be made.
        is_settled: whether the order of channels has been made and may not change again.
        has_size: whether the size is fixed.
        difference: the largest difference of a pixel that was measured, of 255.
        helpers: names of functions the code calls.
    """

    path: Item
    lines: tuple[Line, ...]
    library: str
    mode: str
    dtype: str
    is_float: bool = False
    is_flat: bool = False
    is_bgr: bool = False
    is_settled: bool = False
    has_size: bool = False
    difference: int = 0
    helpers: frozenset[str] = frozenset()

    def then(self, text: str, origin: int, **changes: object) -> Picture:
        """Return the picture behind one more line of code."""
        lines = (*self.lines, *(Line(row, origin) for row in text.split("\n")))
        return replace(self, lines=lines, **changes)  # type: ignore[arg-type]

    def to(self, **changes: object) -> Picture:
        """Return the picture with other facts."""
        return replace(self, **changes)  # type: ignore[arg-type]


Value = Plain | Item | Group | Many | Empty | Blank | Start | Window | Place | Picture


@dataclass
class Facts:
    """What is learnt on the way through a generator.

    Args:
        batch_size: the code of the batch size, by its tree.
        shuffled: the tag of the shuffle that a list has gone through, by the list's code.
        lengths: what is taken for the number of items.
        lists: lists made of those of the user, by their names, and what an item of them is.
        drops: whether an incomplete batch is left out; None until it is known.
        batch_lines: lines of the user that say which items a batch has.
        shuffles: the shuffles: the condition they stand under, and their line.
        widths: how many parts an item has, by its code, where it is taken apart.
        drawn: how items are drawn by chance, where a batch takes any of them: the list they are
            of, the line and the place of the call.
        is_random: whether pictures are changed by chance.
        seed: the code of the seed that the shuffles are made with; may be empty.
    """

    batch_size: ast.expr | None = None
    shuffled: dict[str, str] = field(default_factory=dict)
    lengths: list[ast.expr] = field(default_factory=list)
    lists: dict[str, Value] = field(default_factory=dict)
    drops: bool | None = None
    batch_lines: set[int] = field(default_factory=set)
    shuffles: list[tuple[str, int]] = field(default_factory=list)
    widths: dict[str, int] = field(default_factory=dict)
    drawn: tuple[ast.expr, int, str] | None = None
    is_random: bool = False
    seed: str = ""


def same(one: ast.AST | None, other: ast.AST | None) -> bool:
    """Tell whether two expressions are written alike."""
    return one is not None and other is not None and ast.dump(one) == ast.dump(other)


def assignment(statement: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """Return the target and the value of a statement that gives one target a value."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return statement.targets[0], statement.value
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return statement.target, statement.value
    return None


def code(node: ast.AST) -> str:
    """Return an expression as code."""
    return ast.unparse(ast.fix_missing_locations(copy.deepcopy(node)))


def item_of(node: ast.expr, orders: frozenset[str] = frozenset()) -> Item:
    """Return the item of a list with the number `INDEX`."""
    index = ast.Name(INDEX, ast.Load())
    return Item(ast.Subscript(node, index, ast.Load()), orders)


def number(node: ast.expr | None) -> float | None:
    """Return a number that is written out, also a negative one or a quotient of two."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return None if isinstance(node.value, bool) else float(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        upper, lower = number(node.left), number(node.right)
        return upper / lower if upper is not None and lower else None
    return None


@dataclass
class Plan:
    """What a generator gives.

    Args:
        prelude: statements that stay as they are, in front of the pipeline.
        given: what one item gives: a picture and what belongs to it.
        batch_size: the code of the batch size; None where single items are given.
        drops: whether an incomplete batch is left out.
        is_endless: whether it begins again and again.
        carries: whether the rest of one round goes into the first batch of the next.
        shuffles: the conditions of the shuffles of each round, with their lines.
        origins: the lines of the loops and of the `yield`.
    """

    prelude: list[ast.stmt] = field(default_factory=list)
    given: tuple[Value, ...] = ()
    batch_size: ast.expr | None = None
    drops: bool = False
    is_endless: bool = False
    carries: bool = False
    shuffles: list[tuple[str, int]] = field(default_factory=list)
    origins: dict[str, int] = field(default_factory=dict)


# What `tf.io.decode_jpeg` does not read, or reads otherwise than Pillow.
_OTHER_FILES = re.compile(
    r"\.(bmp|gif|tiff?|webp|ppm|pgm|heic|jp2|exr|npy|npz|dcm)\b", re.IGNORECASE
)


class Names:
    """The names of one script."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.has_tables = "pandas" in module.text
        self.imports: dict[str, str] = {}
        for node in module.all(ast.Import):
            for alias in node.names:
                top = alias.name if alias.asname else alias.name.split(".")[0]
                self.imports[alias.asname or top] = top
        for found in module.all(ast.ImportFrom):
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

    def function(self, name: str) -> Def | None:
        """Return the only function of a name, not a method."""
        found = [f for f in self.module.all(ast.FunctionDef) if f.name == name]
        found = [f for f in found if not isinstance(self.module.parent(f), ast.ClassDef)]
        return found[0] if len(found) == 1 and name not in self._bound_otherwise else None

    @cached_property
    def _bound_otherwise(self) -> set[str]:
        """Names that are assigned to somewhere."""
        stores = [n.id for n in self.module.all(ast.Name) if isinstance(n.ctx, ast.Store)]
        return {*stores, *self.imports}

    def assigned(self, node: ast.expr, scope: Def | None = None) -> ast.expr | None:
        """Return the value of a name or attribute that is assigned in one place only.

        A name of a function is looked for there first, then at the top of the file.
        """
        key = code(node)
        if isinstance(node, ast.Name):
            for place in (scope, self.module.tree):
                if place is None:
                    continue
                if isinstance(place, ast.FunctionDef) and key in parameter_names(place):
                    return None
                found = self._assignments(key, place)
                if found:
                    return found[0] if len(found) == 1 else None
            return None
        found = self._assignments(key, self.module.tree)
        if not found and isinstance(node, ast.Attribute):
            return self._class_attribute(node)
        return found[0] if len(found) == 1 else None

    def _class_attribute(self, node: ast.Attribute) -> ast.expr | None:
        """Return the value that a class of settings, or its only instance, has by a name."""
        owner = node.value
        if not isinstance(owner, ast.Name):
            return None
        classes = {c.name: c for c in self.module.all(ast.ClassDef)}
        if owner.id not in classes:
            made = self.assigned(owner)
            if not isinstance(made, ast.Call) or made.args or made.keywords:
                return None
            owner = made.func
        found = classes.get(code(owner))
        stored = [n for n in self.module.all(ast.Attribute) if n.attr == node.attr]
        if found is None or any(not isinstance(n.ctx, ast.Load) for n in stored):
            return None
        values = [v for s in found.body for t, v in (_pair(s),) if t == node.attr]
        return values[0] if len(values) == 1 else None

    def _assignments(self, key: str, place: ast.AST) -> list[ast.expr | None]:
        """Return what is assigned to a name in a function or at the top; None for what is not."""
        found: list[ast.expr | None] = []
        for node in ast.walk(place):
            targets, value = _bound(node)
            inside = self.module.around(node, ast.FunctionDef)
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

    def may_be_table(self, node: ast.expr, scope: Def | None = None) -> bool:
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
        texts = [c.value for c in self.module.all(ast.Constant) if isinstance(c.value, str)]
        return not any(_OTHER_FILES.search(text) for text in texts)

    def reads_only_jpeg(self) -> bool:
        """Tell whether the texts of the script name JPEG files and no others."""
        texts = [c.value for c in self.module.all(ast.Constant) if isinstance(c.value, str)]
        has_jpeg = any(re.search(r"\.jpe?g\b", text, re.IGNORECASE) for text in texts)
        return has_jpeg and not any(".png" in text.lower() for text in texts)

    def is_text(self, node: ast.expr, scope: Def | None = None) -> bool:
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
        shapes = [s for call in self.module.all(ast.Call) for s in _shapes(call)]
        found = {code(shape) for shape in shapes if isinstance(shape, ast.Tuple)}
        return found.pop() if len(found) == 1 and len(shapes) > 0 else ""


def _pair(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    """Return the name that a statement gives a value, and the value."""
    found = assignment(statement)
    return (code(found[0]), found[1]) if found is not None else ("", None)


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
