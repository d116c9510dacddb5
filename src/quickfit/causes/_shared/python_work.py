"""What a function that tf.data calls does in Python: which files it reads, with which libraries."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from quickfit.code import Module, Program
from quickfit.code.syntax import name_of, own_nodes
from quickfit.code.values import (
    Class,
    External,
    Instance,
    Item,
    Literal,
    Made,
    Member,
    Parameter,
    Routine,
    Value,
)

IMAGES = frozenset(
    (
        *("PIL.Image.open", "cv2.imread", "cv2.imdecode", "imageio.imread", "imageio.v2.imread"),
        *("imageio.v3.imread", "skimage.io.imread", "matplotlib.image.imread"),
        *("matplotlib.pyplot.imread", "keras.utils.load_img", "keras.preprocessing.image.load_img"),
    )
)
ARRAYS = frozenset(("numpy.load", "numpy.fromfile"))
FILES = frozenset(("builtins.open",))
# What these do, TensorFlow does as well, or it costs next to nothing.
_KNOWN = frozenset(
    (
        *("builtins", "os", "pathlib", "glob", "io", "random", "math", "itertools"),
        *("functools", "collections", "logging", "sys", "typing", "string", "re", "numpy"),
        *("PIL", "cv2", "imageio", "skimage", "matplotlib", "keras", "tensorflow", "tqdm"),
    )
)
# Of these libraries, TensorFlow has these.
_HAVE = {
    "cv2": frozenset(("imread", "imdecode", "cvtColor", "resize", "flip", "rotate")),
    "skimage": frozenset(("imread", "resize", "rgb2gray", "img_as_float", "img_as_float32")),
    "keras": frozenset(("load_img", "img_to_array", "preprocess_input", "to_categorical")),
    "matplotlib": frozenset(("imread",)),
    "imageio": frozenset(("imread",)),
    "PIL": frozenset(("open", "fromarray", "frombytes")),
}
MAX_DEPTH = 4


@dataclass
class Work:
    """What a function does, with the functions of the program that it calls.

    Args:
        reads: the calls that read or decode a file, with their full names.
        others: calls into libraries for which TensorFlow has nothing; `?` for what is unknown.
        calls: the full names of everything of a library that is called.
        methods: the names of methods that are called of anything.
    """

    reads: list[tuple[Module, ast.Call, str]] = field(default_factory=list)
    others: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)

    def add(self, other: Work) -> None:
        """Add what a function does that this one calls."""
        self.reads += other.reads
        self.others |= other.others
        self.calls |= other.calls
        self.methods |= other.methods


def work(program: Program, routine: Routine, depth: int = MAX_DEPTH) -> Work:
    """Return what a function of the program does in Python."""
    found = Work()
    for node in own_nodes(routine.node):
        if isinstance(node, ast.Call):
            found.add(call_work(program, routine.module, node, depth))
    return found


def call_work(program: Program, module: Module, call: ast.Call, depth: int = MAX_DEPTH) -> Work:
    """Return what a single call does."""
    found = Work()
    for value in program.values(module, call.func):
        if isinstance(value, External):
            _library(found, module, call, value.name)
        elif isinstance(value, Routine) and depth:
            found.add(work(program, value, depth - 1))
        else:
            name = _root(value)
            found.methods.add(name_of(call.func))
            found.others |= {name} if name and not _is_known(name, name_of(call.func)) else set()
    return found


def _library(found: Work, module: Module, call: ast.Call, name: str) -> None:
    found.calls.add(name)
    if name in IMAGES | ARRAYS | FILES:
        found.reads.append((module, call, name))
    elif not _is_known(name, name.rsplit(".", 1)[-1]):
        found.others.add(name)


def _is_known(name: str, last: str) -> bool:
    library = name.split(".")[0]
    if library not in _KNOWN:
        return False
    return last in _HAVE[library] if library in _HAVE and "." in name else True


def _root(value: Value) -> str:
    """Return the library that made the object whose method is called; `?` if nobody knows."""
    while isinstance(value, Member | Item):
        value = value.of
    if isinstance(value, Made):
        if value.maker:
            return value.maker.split(".")[0]
        return _root(value.receiver[0]) if value.receiver else "?"
    if isinstance(value, External):
        return value.name.split(".")[0]
    if isinstance(value, Parameter | Literal):
        return ""  # an array or text that is handed in
    return "?" if isinstance(value, Class | Instance) or not _is_data(value) else ""


def _is_data(value: Value) -> bool:
    """Tell whether something is a list, a tuple or the result of arithmetic."""
    return type(value).__name__ in ("Group", "Computed")
