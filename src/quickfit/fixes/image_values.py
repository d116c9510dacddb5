"""What an expression of an image input stands for: an item, a batch, a picture, a place."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field, replace

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


def parsed_expression(text: str) -> ast.expr:
    """Return the tree of an expression."""
    return ast.parse(text, mode="eval").body


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
