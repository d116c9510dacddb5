"""Tells whether Python code gives the same whenever it is run: what it made once may be kept.

Such code draws nothing, asks no clock, keeps nothing between two calls, and changes nothing that
it was not the first to make. In doubt it is not so.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable

from quickfit.code.arrays import bound_pairs, is_fresh, written_names
from quickfit.code.graph_code import is_graph_path, is_random_path
from quickfit.code.module import Module
from quickfit.code.program import Program
from quickfit.code.scopes import (
    imports_or_defines,
    local_names,
    loops_around,
    parameters,
    scope_of,
    value_of,
    writes,
)
from quickfit.code.syntax import FUNCTIONS, Def, Function, argument, called_name, name_of
from quickfit.code.values import Class, External, File, Instance, Made, Routine

# Libraries whose functions give the same for the same arguments, but for those below.
_STEADY = frozenset(
    (
        *("numpy", "PIL", "cv2", "scipy", "skimage", "imageio", "math", "re", "json", "csv"),
        *("string", "struct", "itertools", "functools", "operator", "collections", "statistics"),
        *("unicodedata", "html", "base64", "zlib", "gzip", "bz2", "lzma", "soundfile", "librosa"),
        *("wave", "pandas", "bisect", "textwrap", "fractions", "decimal", "colorsys", "hashlib"),
    )
)
_STEADY_PARTS = (
    *("os.path.", "os.fspath", "os.sep", "pathlib.", "io.BytesIO", "io.StringIO", "io.open"),
    *("keras.utils.load_img", "keras.utils.img_to_array", "keras.utils.to_categorical"),
    *("keras.preprocessing.image.load_img", "keras.preprocessing.image.img_to_array"),
)
_STEADY_BUILTINS = frozenset(
    (
        *("abs", "all", "any", "bool", "bytes", "chr", "dict", "divmod", "enumerate", "filter"),
        *("float", "frozenset", "int", "isinstance", "len", "list", "map", "max", "min", "open"),
        *("ord", "pow", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str"),
        *(
            "sum",
            "tuple",
            "zip",
            "bytearray",
            "complex",
            "format",
            "hash",
            "ValueError",
            "KeyError",
        ),
        *("IndexError", "TypeError", "RuntimeError", "getattr", "hasattr", "StopIteration"),
    )
)
# Words in the path of a function that draws, writes, shows or asks for the time.
_UNSTEADY = frozenset(
    (
        *("random", "rand", "randn", "randint", "randu", "randShuffle", "theRNG", "setRNGSeed"),
        *("random_noise", "rvs", "stats", "shuffle", "imwrite", "imsave", "savez", "save"),
        *("savez_compressed", "savetxt", "memmap", "tofile", "dump", "write", "writer", "imshow"),
        *("waitKey", "VideoCapture", "VideoWriter", "copyto", "put", "putmask", "place", "show"),
        *("fill_diagonal", "put_along_axis", "open_memmap", "count", "cycle", "tee", "seed"),
        *("to_csv", "to_pickle", "to_parquet", "mimsave", "effect_noise", "DictWriter"),
        *("unlink", "mkdir", "rmdir", "rename", "touch", "write_text", "write_bytes", "cwd"),
        *("getctime", "getatime", "getmtime", "stat", "ImageGrab", "kmeans", "kmeans2", "at"),
        *("exists", "isfile", "isdir", "lexists", "getsize"),
    )
)  # fmt: skip
# Methods that change the object they are called of.
CHANGING_METHODS = frozenset(
    (
        *("append", "extend", "insert", "pop", "popitem", "popleft", "remove", "clear", "update"),
        *("setdefault", "sort", "reverse", "add", "discard", "fill", "put", "itemset", "remove"),
        *("setflags", "partition", "appendleft", "seek", "read", "readline", "write"),
        *("writelines", "send", "close", "paste", "putpixel", "putdata", "thumbnail", "itemset"),
        *("__setitem__", "__next__", "setfield", "byteswap", "difference_update", "draft"),
        *("assign", "assign_add", "assign_sub", "set_value", "scatter_update", "set_weights"),
    )
)
# Methods whose effect lies outside of any object.
_WRITING = frozenset(
    (
        *("save", "dump", "to_csv", "to_pickle", "to_parquet", "tofile", "write_text", "flush"),
        *("write_bytes", "unlink", "mkdir", "touch", "rename", "write", "writelines", "show"),
        *("shuffle", "permutation", "permuted", "choice", "choices", "integers", "randint"),
        *("uniform", "gauss"),
        *("normal", "standard_normal", "random", "rand", "randn", "random_sample", "sample"),
        *("binomial", "poisson", "beta", "exponential", "bytes", "getrandbits", "randrange"),
        *("log", "info", "debug", "warning", "put", "get_nowait", "acquire", "release", "wait"),
        *("fit", "fit_transform", "train", "augment", "random_transform", "step", "reset", "next"),
        *("glob", "rglob", "iterdir", "iglob", "scandir", "listdir", "walk"),
        *("exists", "is_file", "is_dir", "effect_spread"),
        *("execute", "commit", "recv", "send", "request", "urlopen", "emit", "callback", "render"),
    )
)  # fmt: skip
# Of an object that was there before, only these are known to change nothing in it.
READING_METHODS = frozenset(
    (
        *("split", "rsplit", "strip", "lstrip", "rstrip", "lower", "upper", "replace"),
        *("startswith", "rpartition"),
        *("endswith", "removesuffix", "removeprefix", "join", "format", "encode", "decode"),
        *("find", "rfind", "isdigit", "zfill", "splitlines", "casefold"),
        *("get", "items", "keys", "values", "index", "copy", "tolist", "item", "astype", "reshape"),
        *("ravel", "flatten", "transpose", "squeeze", "mean", "std", "sum", "min", "max", "argmax"),
        *("argmin", "dot", "clip", "round", "any", "all", "take", "repeat", "swapaxes", "view"),
        *("getdata", "getpixel", "tobytes", "getbands", "lookup", "getextrema"),
        *("joinpath", "with_suffix", "with_name", "as_posix", "read_text"),
        *("read_bytes", "toarray", "todense", "to_numpy"),
        *("match", "search", "findall", "sub", "fullmatch", "finditer", "group", "groups", "span"),
        *("numpy", "isin", "iterrows", "itertuples", "head", "loc", "iloc", "at", "iat", "count"),
        *("to_tensor", "to_list", "to_sparse"),
        *("set_shape", "prod", "var", "diff", "searchsorted", "conj", "real", "imag", "nonzero"),
    )
)  # fmt: skip
# The same of an image that a function is given; an object from elsewhere may draw in them.
IMAGE_METHODS = frozenset(
    ("convert", "resize", "crop", "rotate", "filter", "point", "transpose", "load", "quantize")
)
# What they give is used up by the first who reads it.
_USED_UP = frozenset(
    (
        *("open", "iter", "zip", "map", "filter", "enumerate", "reversed", "finditer", "reader"),
        *("DictReader", "chain", "islice", "cycle", "from_iterable", "iterrows", "itertuples"),
    )
)
# They call a function of Python.
_CALLING = frozenset(("tensorflow.numpy_function", "tensorflow.py_function"))
MAX_DEPTH = 6


class Purity:
    """Asks of functions of a program whether they give the same whenever they are called."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def is_pure(self, module: Module, function: Function, depth: int = MAX_DEPTH) -> bool:
        """Tell whether a function gives the same for the same arguments, and does nothing else."""
        if isinstance(function, ast.AsyncFunctionDef) or depth == 0:
            return False
        body = [function.body] if isinstance(function, ast.Lambda) else function.body
        return self.is_steady(module, body, function, depth)

    def is_steady(
        self,
        module: Module,
        body: Iterable[ast.AST],
        function: Function,
        depth: int = MAX_DEPTH,
    ) -> bool:
        """Tell the same of a part of a function, which may change what that part has made."""
        nodes = [node for part in body for node in (part, *_inner(part))]
        if any(isinstance(n, ast.Global | ast.Nonlocal | ast.Await | ast.Delete) for n in nodes):
            return False
        if any(isinstance(n, ast.ClassDef | ast.AsyncFor | ast.AsyncWith) for n in nodes):
            return False
        own = {name for node in nodes for name in _bound(node)}
        free = _free(function, nodes, own)
        fixed = imports_or_defines(module) | set(dir(builtins))
        # What shares memory with data from outside, by some assignment here, is not its own either.
        outer = self._outer(module, function, (free - fixed) | _given_to_inner(nodes), nodes, depth)
        if written_names(nodes) & (outer | free):
            return False
        calls = [n for n in nodes if isinstance(n, ast.Call)]
        if not all(self._is_steady_call(module, call, function, outer, depth) for call in calls):
            return False
        if not all(self._may_be_run(module, node, depth) for node in nodes):
            return False
        return self._reads_what_stays(module, function, nodes, own)

    # -- calls --------------------------------------------------------------------------------

    def _is_steady_call(
        self, module: Module, call: ast.Call, function: Function, outer: set[str], depth: int
    ) -> bool:
        if isinstance(call.func, ast.Attribute) and name_of(call.func.value) == "self":
            return self._is_steady_method(call.func.attr, depth)
        if self._is_file_written_later(module, call):
            return False
        values = self._program.values(module, call.func)
        known = [v for v in values if isinstance(v, External | Routine | Class | File)]
        if known:
            return (
                len(known) == len(values)
                and not _is_in_place(call, outer)
                and all(self._is_steady_value(module, call, value, depth) for value in known)
            )
        if not isinstance(call.func, ast.Attribute):
            return False
        name, root = call.func.attr, _root(call.func.value)
        if name in _WRITING or _is_in_place(call, outer):
            return False
        if not _shared_by(call.func.value, imports_or_defines(module)) & outer:
            return True
        if name == "get":  # of a dictionary; a queue gives another item each time
            return bool(call.args) and not isinstance(getattr(call.args[0], "value", ""), bool)
        first = parameters(function)[:1]
        is_given = root is not None and [root.id] == first and root.id != "self"
        return name in READING_METHODS or (is_given and name in IMAGE_METHODS)

    def _is_steady_method(self, name: str, depth: int) -> bool:
        """Tell whether `self.name(...)` is steady, whichever class of the program it means."""
        modules = list(self._program.modules())
        if any(n.attr == name and _is_stored(n) for m in modules for n in m.all(ast.Attribute)):
            return False
        found = [(m, one) for m in modules for one in _methods(m) if one.name == name]
        return bool(found) and all(self.is_pure(m, one, depth - 1) for m, one in found)

    def _outer(
        self, module: Module, function: Function, names: set[str], nodes: list[ast.AST], depth: int
    ) -> set[str]:
        """Return the names of what was there before, and of functions that give such a thing."""
        calls = [n.func for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
        giving = {f.id for f in calls if self._gives_outer(self._program.only(module, f), depth)}
        return _sharing(function, names | giving, imports_or_defines(module))

    def _gives_outer(self, value: object, depth: int) -> bool:
        """Tell whether a function gives something that it did not make, nor was given."""
        if not isinstance(value, Routine) or isinstance(value.node, ast.Lambda):
            return False
        if depth == 0:
            return True
        module, function = value.module, value.node
        nodes = [node for part in function.body for node in (part, *_inner(part))]
        own = {name for node in nodes for name in _bound(node)} | set(parameters(function))
        libraries = imports_or_defines(module)
        names = _free(function, nodes, own) - own - libraries - set(dir(builtins))
        outer = self._outer(module, function, names, nodes, depth - 1)
        returned = [n.value for n in nodes if isinstance(n, ast.Return) and n.value]
        return any(_shared_by(part, libraries) & outer for part in returned)

    def _may_be_run(self, module: Module, node: ast.AST, depth: int) -> bool:
        """Tell whether what a node runs without calling it is steady.

        It hands a function on, or takes elements of an object that makes them.
        """
        if isinstance(node, ast.Subscript | ast.For | ast.comprehension):
            return self._are_elements_steady(
                module, node.value if isinstance(node, ast.Subscript) else node.iter, depth
            )
        parent = module.parent(node)
        if not isinstance(node, ast.Name | ast.Attribute) or isinstance(parent, ast.Attribute):
            return True
        if isinstance(parent, ast.Call) and parent.func is node:
            return True
        if isinstance(node, ast.Attribute):
            if node.attr in _WRITING and isinstance(parent, ast.Call | ast.keyword):
                return False
            if name_of(node.value) == "self" and any(
                one.name == node.attr and not one.decorator_list
                for other in self._program.modules()
                for one in _methods(other)
            ):
                return self._is_steady_method(node.attr, depth)
        for value in self._program.values(module, node) if not _is_stored(node) else ():
            if isinstance(value, Routine) and not self.is_pure(value.module, value.node, depth - 1):
                return False
            if isinstance(value, External) and not _may_be_handed_on(value.name):
                return False
        return True

    def _are_elements_steady(self, module: Module, node: ast.expr, depth: int) -> bool:
        made = {v.made for v in self._program.values(module, node) if isinstance(v, Instance)}
        for other in self._program.modules():
            for method in _methods(other):
                if method.name not in ("__getitem__", "__iter__", "__next__"):
                    continue
                owner = other.parent(method)
                assert isinstance(owner, ast.ClassDef)
                # Of what is not known it may be a part, but for what is trained with.
                is_meant = Class(owner, other) in made
                is_data = any(
                    "Dataset" in name_of(b) or "Sequence" in name_of(b) for b in owner.bases
                )
                is_asked = is_meant or not (is_data or module.is_in(node, owner))
                if is_asked and not self.is_pure(other, method, depth - 1):
                    return False
        return True

    def _is_file_written_later(self, module: Module, call: ast.Call) -> bool:
        """Tell whether the program may write, while it trains, what a call reads from a file."""
        kind = next((k for k, names in _READERS.items() if called_name(call) in names), None)
        is_image = isinstance(call.func, ast.Attribute) and name_of(call.func.value) == "Image"
        kind = "image" if is_image and kind == "text" else kind
        if kind is None:
            return False
        read = {n.value for arg in call.args for n in ast.walk(arg) if isinstance(n, ast.Constant)}
        for other in self._program.modules():
            for one in other.calls(*WRITERS[kind]):
                named = {n.value for n in ast.walk(one) if isinstance(n, ast.Constant)}
                texts = {t for t in named if isinstance(t, str) and "." in t}
                is_writing = called_name(one) != "open" or not _only_reads(one)
                # Who writes a file of one name writes none that is found by a listing.
                is_other = bool(texts) and not texts & read
                if is_writing and not is_other and not self._is_beside(other, one, MAX_DEPTH):
                    return True
        return False

    def _is_beside(self, module: Module, node: ast.AST, depth: int) -> bool:
        """Tell whether code runs before or after all training, in a function perhaps."""
        function = module.function(node)
        line = getattr(node, "lineno", 0)
        trainings = [c for c in module.calls(*_TRAINING) if module.function(c) is function]
        if len({call.lineno < line for call in trainings}) == 2:
            return False
        if any(_trains(loop) for loop in loops_around(module, node)):
            return False
        if function is None:
            return True
        if depth == 0 or isinstance(module.parent(function), ast.ClassDef):
            return False
        callers = self._program.resolver.callers(module, function)
        return bool(callers) and all(self._is_beside(*caller, depth - 1) for caller in callers)

    def _is_steady_value(self, module: Module, call: ast.Call, value: object, depth: int) -> bool:
        if isinstance(value, Routine):
            return self.is_pure(value.module, value.node, depth - 1)
        if isinstance(value, External) and value.name in _CALLING:
            given = argument(call, "func", 0)
            called = self._program.only(module, given) if given is not None else None
            return isinstance(called, Routine) and self.is_pure(
                called.module, called.node, depth - 1
            )
        return isinstance(value, External) and is_steady_path(value.name, call)

    def is_once(self, module: Module, node: ast.AST, depth: int = MAX_DEPTH) -> bool:
        """Tell whether code runs once, as far as the text tells."""
        if loops_around(module, node):
            return False
        function = module.function(node)
        if function is None:
            return True
        callers = self._program.resolver.callers(module, function) if depth else []
        return len(callers) == 1 and self.is_once(*callers[0], depth - 1)

    def may_be_endless(self, module: Module, nodes: Iterable[ast.AST]) -> bool:
        """Tell whether code may loop without end: itself, in a function, over what is given."""
        for node in nodes:
            called = self.own_routine(module, node) if isinstance(node, ast.Call) else None
            inner = ast.walk(called.node) if called is not None else ()
            if any(isinstance(part, ast.While) for part in (node, *inner)):
                return True
            values = self._program.values(module, node.iter) if isinstance(node, ast.For) else ()
            if any(isinstance(value, Made) and not _surely_ends(value) for value in values):
                return True
        return False

    def own_routine(self, module: Module, call: ast.Call) -> Routine | None:
        """Return the function or method of the program that a call surely calls."""
        method = self._own_method(module, call)
        if method is not None:
            return Routine(method, module)
        only = self._program.only(module, call.func)
        return only if isinstance(only, Routine) else None

    def _own_method(self, module: Module, call: ast.Call) -> Def | None:
        """Return the method that `self.name(...)` calls, where the program has one of that name."""
        if not isinstance(call.func, ast.Attribute) or name_of(call.func.value) != "self":
            return None
        owner = module.around(call, ast.ClassDef)
        if owner is None:
            return None
        found = [
            one
            for other in self._program.modules()
            for one in other.all(ast.FunctionDef)
            if one.name == call.func.attr and isinstance(other.parent(one), ast.ClassDef)
        ]
        return found[0] if len(found) == 1 and module.parent(found[0]) is owner else None

    def stays(self, module: Module, function: Function, *calls: tuple[Module, ast.Call]) -> bool:
        """Tell whether what a function is given for good is not changed by other code later.

        Args:
            module: where the function is.
            function: a generator, or the first method of an object; it keeps what it is given.
            calls: those that give it that, with their files. Functions around it are called too.
        """
        outer = module.function(function)
        while outer is not None:
            callers = self._program.resolver.callers(module, outer)
            if not callers:
                return False
            calls = (*calls, *callers)
            outer = module.function(outer)
        return not any(
            self._is_changed_beside(there, call, name.id)
            for there, call in calls
            for part in (*call.args, *(k.value for k in call.keywords))
            for name in ast.walk(part)
            if isinstance(name, ast.Name) and name.id not in imports_or_defines(there)
        )

    def _is_changed_beside(self, there: Module, call: ast.Call, name: str) -> bool:
        """Tell whether code changes what has a name, other than before a call in the same place."""
        own = there.function(call)
        for module in self._program.modules():
            for node in module.all(ast.Call, ast.Subscript, ast.AugAssign):
                changed = _changed_by(node)
                if changed is None:
                    continue
                owner = module.around(node, ast.ClassDef)
                if owner is not None and owner.name == called_name(call):
                    continue  # what an object does with its own, its methods are asked for
                is_named = isinstance(changed, ast.Name) and changed.id == name
                if not is_named and not self._stands_for(module, changed, name, False):
                    continue
                is_earlier = (
                    module is there
                    and module.function(node) is own
                    and getattr(node, "lineno", 0) < call.lineno
                )
                loops = loops_around(module, node)
                if not is_earlier or any(_trains(loop) for loop in loops):
                    return True
        return False

    # -- names and attributes ---------------------------------------------------------------

    def _reads_what_stays(
        self, module: Module, function: Function, nodes: list[ast.AST], own: set[str]
    ) -> bool:
        """Tell whether nothing that the code reads from outside may change between two calls."""
        given = {arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)}
        names = [n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
        free = {n.id for n in names} - own - given
        if not all(self._is_kept(module, function, name) for name in free):
            return False
        fixed = imports_or_defines(module)
        attributes = [
            n
            for n in nodes
            if isinstance(n, ast.Attribute)
            and ((root := _root(n)) is None or root.id in own or root.id not in fixed)
        ]
        return all(self._is_kept_attribute(n) for n in attributes)

    def _is_kept(self, module: Module, function: Function, name: str) -> bool:
        """Tell whether a name outside a function is given its value once, and never changed."""
        declared = [*module.all(ast.Global), *module.all(ast.Nonlocal)]
        if any(name in node.names for node in declared):  # type: ignore[attr-defined]
            return False
        changed = [
            (other, node)
            for other in self._program.modules()
            for node in other.all(ast.Attribute)
            if not isinstance(node.ctx, ast.Load) and name_of(node.value) == name
        ]
        if any(not _is_before_training(*one) for one in changed):
            return False
        bound = [
            node
            for node in ast.walk(module.tree)
            if name in _bound(node)
            and not isinstance(node, ast.arg)
            and not module.is_in(node, function)
            and _is_seen_from(module, function, node)
        ]
        if any(is_used_up(value_of(module, node)) for node in bound):
            return False
        inner = [node for node in bound if scope_of(module, node) is not module.tree]
        if len(inner) > 1 or any(loops_around(module, node) for node in inner):
            return False
        if any(not _is_before_training(module, node) for node in bound[1:]):
            return False
        if any(_trains(loop) for node in bound for loop in loops_around(module, node)):
            return False
        is_code = name in imports_or_defines(module)
        return is_code or not self._is_changed_later(name, is_attribute=False)

    def _is_kept_attribute(self, node: ast.Attribute) -> bool:
        """Tell whether `self.name` is set by `__init__` alone, and never changed."""
        for other in self._program.modules():
            # Any attribute may be set by its name.
            named = [call.args[1] for call in other.calls("setattr") if len(call.args) > 1]
            if any(getattr(one, "value", node.attr) == node.attr for one in named):
                return False
            if other.calls("vars") or any(n.attr == "__dict__" for n in other.all(ast.Attribute)):
                return False
            for method in other.all(ast.FunctionDef):
                if method.name in ("__getattr__", "__getattribute__"):
                    return False
                # A property is a function that is called.
                is_called = method.name == node.attr and bool(method.decorator_list)
                if is_called and not self.is_pure(other, method, MAX_DEPTH // 2):
                    return False
            for one in other.all(ast.Attribute):
                if one.attr != node.attr or isinstance(one.ctx, ast.Load):
                    continue
                maker = other.around(one, *FUNCTIONS)
                if not isinstance(maker, Def) or maker.name != "__init__":
                    return False
                if is_used_up(value_of(other, one)):
                    return False
        return not self._is_changed_later(node.attr, is_attribute=True)

    def _is_changed_later(self, name: str, *, is_attribute: bool) -> bool:
        """Tell whether code that runs more than once may change what has this name."""
        for module in self._program.modules():
            for node in module.all(ast.Call, ast.Subscript, ast.AugAssign):
                changed = _changed_by(node)
                if changed is None or not self._stands_for(module, changed, name, is_attribute):
                    continue
                maker = module.around(node, *FUNCTIONS)
                is_making = isinstance(maker, Def) and maker.name == "__init__"
                is_making = is_making and is_attribute
                if not is_making and not _is_before_training(module, node):
                    return True
        return False

    def _stands_for(self, module: Module, node: ast.expr, name: str, is_attribute: bool) -> bool:
        """Tell whether a changed thing is what has a name, or an argument that was given it."""
        if _stands_for(module, node, name, is_attribute):
            return True
        function = module.function(node)
        owner = module.around(node, ast.ClassDef)
        called = ""
        if isinstance(node, ast.Name) and isinstance(function, Def):
            called = function.name if node.id in parameters(function) else ""
        elif isinstance(node, ast.Attribute) and owner is not None:
            called = owner.name if name_of(node.value) == "self" else ""
        return bool(called) and any(
            _is_called(_base(part), name, is_attribute=is_attribute)
            for other in self._program.modules()
            for call in other.calls(called)
            for part in (*call.args, *(k.value for k in call.keywords))
        )


def _surely_ends(value: Made) -> bool:
    if not value.maker:
        return value.method in READING_METHODS
    is_steady = value.maker.split(".")[0] in _STEADY or value.maker.startswith(_STEADY_PARTS)
    return is_steady or value.maker.startswith("builtins.")


def _methods(module: Module) -> list[ast.FunctionDef]:
    return [f for f in module.all(ast.FunctionDef) if isinstance(module.parent(f), ast.ClassDef)]


def _is_stored(node: ast.Name | ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _given_to_inner(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the parameters of functions inside: anything may be given to them."""
    return {node.arg for node in nodes if isinstance(node, ast.arg)}


def _may_be_handed_on(path: str) -> bool:
    """Tell whether something of a library gives the same, whoever calls or reads it."""
    parts = path.split(".")
    if parts[0] == "builtins":
        found = getattr(builtins, parts[-1], None)
        return parts[-1] in _STEADY_BUILTINS or isinstance(found, type) or not callable(found)
    if set(parts) & _UNSTEADY:
        return False
    if parts[0] in ("tensorflow", "keras"):
        return not is_random_path(path)
    return parts[0] in _STEADY or path.startswith(_STEADY_PARTS)


# What reads files, and what writes such files.
_READERS = {
    "array": ("load", "fromfile", "loadtxt", "memmap", "genfromtxt"),
    "text": ("open", "read_text", "read_bytes", "read_csv", "read_parquet", "read_pickle"),
    "image": ("imread", "load_img", "open", "read_file"),
}
WRITERS = {
    "array": ("save", "savez", "savez_compressed", "savetxt", "tofile", "memmap"),
    "text": ("open", "write_text", "write_bytes", "to_csv", "to_parquet", "to_pickle"),
    "image": ("imwrite", "imsave", "save", "save_img", "write_file"),
}


def is_steady_path(path: str, call: ast.Call) -> bool:
    """Tell whether a library function gives the same for the same arguments, and does no more."""
    parts = path.split(".")
    if parts[0] == "builtins":
        if parts[-1] == "open":
            return _only_reads(call)
        return parts[-1] in _STEADY_BUILTINS
    if set(parts) & _UNSTEADY or parts[-1].startswith(("sample_", "fractional_")):
        return False
    if path.startswith("keras.applications.") and parts[-1] == "preprocess_input":
        return True
    if path == "gzip.open" or path == "io.open":
        return _only_reads(call)
    if path.startswith(_STEADY_PARTS):
        return True
    if parts[0] == "tensorflow":
        is_read = path in (
            "tensorflow.io.read_file",
            "tensorflow.constant",
            "tensorflow.numpy_function",
        )
        is_decoded = path.startswith(("tensorflow.io.decode", "tensorflow.io.parse"))
        is_decoded = is_decoded or path == "tensorflow.py_function"
        return is_read or is_decoded or (is_graph_path(path) and not is_random_path(path))
    return parts[0] in _STEADY


def _only_reads(call: ast.Call) -> bool:
    modes = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "mode")]
    return all(isinstance(m, ast.Constant) and set(str(m.value)) <= set("rbt") for m in modes)


def is_used_up(value: ast.expr | None) -> bool:
    """Tell whether what a function returns can be read only once."""
    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
    return any(
        isinstance(part, ast.GeneratorExp)
        or (isinstance(part, ast.Call) and called_name(part) in _USED_UP)
        for part in parts
    )


def _inner(part: ast.AST) -> list[ast.AST]:
    return list(ast.walk(part))[1:]


def _bound(node: ast.AST) -> set[str]:
    """Return the names that a node itself binds."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return {node.id}
    if isinstance(node, Def | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.arg):
        return {node.arg}
    if isinstance(node, ast.ExceptHandler) and node.name:
        return {node.name}
    if isinstance(node, ast.alias):
        return {(node.asname or node.name).partition(".")[0]}
    return set()


def _free(function: Function, nodes: list[ast.AST], own: set[str]) -> set[str]:
    """Return the names of what was there before the code ran."""
    read = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    given = {arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)}
    return (read - own) | given


# Functions of libraries whose result may share memory with what they are given.
_VIEWING = frozenset(
    (
        *("asarray", "asanyarray", "ascontiguousarray", "ravel", "reshape", "squeeze", "moveaxis"),
        *(
            "expand_dims",
            "transpose",
            "swapaxes",
            "atleast_1d",
            "atleast_2d",
            "atleast_3d",
            "split",
        ),
        *("broadcast_to", "flip", "fliplr", "flipud", "rot90", "array_split", "nan_to_num", "diag"),
        *("frombuffer", "require", "real", "imag", "rollaxis", "chain", "islice", "deque"),
    )
)


def _sharing(function: Function, names: set[str], libraries: set[str]) -> set[str]:
    """Return names that may share memory with data of these names, by what a function assigns."""
    nodes = list(ast.walk(function))
    pairs = [pair for node in nodes for pair in bound_pairs(node)]
    pairs += [(n.target, n.iter) for n in nodes if isinstance(n, ast.comprehension)]
    pairs += [
        (n.optional_vars, n.context_expr)
        for n in nodes
        if isinstance(n, ast.withitem) and n.optional_vars
    ]
    shared, before = set(names), set[str]()
    while shared != before:
        before = set(shared)
        for target, value in pairs:
            if _shared_by(value, libraries) & shared:
                shared |= writes(target)
    return shared


def _shared_by(value: ast.expr, libraries: set[str]) -> set[str]:
    """Return the names of data that a value may share memory with."""
    if isinstance(value, ast.Name):
        return {value.id}
    if is_fresh(value) and not isinstance(value, ast.BinOp):
        return set()
    if isinstance(value, ast.Attribute | ast.Subscript | ast.Starred | ast.NamedExpr):
        return _shared_by(value.value, libraries)
    if isinstance(value, ast.Call):
        given = [*value.args, *(keyword.value for keyword in value.keywords)]
        names = {name for part in given for name in _shared_by(part, libraries)}
        if isinstance(value.func, ast.Name):
            return set() if value.func.id == "open" else names | {value.func.id}
        if not isinstance(value.func, ast.Attribute):
            return names
        root = _root(value.func)
        if root is not None and root.id in libraries:
            return names if value.func.attr in _VIEWING else set()
        return _shared_by(value.func.value, libraries)
    if isinstance(value, ast.BinOp | ast.Compare | ast.UnaryOp | ast.Constant | ast.JoinedStr):
        return set()
    return {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}


def _is_seen_from(module: Module, function: Function, node: ast.AST) -> bool:
    scope = scope_of(module, node)
    return scope is module.tree or module.is_in(function, scope)


def _is_before_training(module: Module, node: ast.AST) -> bool:
    """Tell whether code runs once, at the top of a file, before the first training there."""
    if module.around(node, *FUNCTIONS) is not None:
        return False
    if any(_trains(loop) for loop in loops_around(module, node)):
        return False
    first = min((call.lineno for call in module.calls(*_TRAINING)), default=0)
    return getattr(node, "lineno", first) < first


# They write into what they are given first.
_IN_PLACE = frozenset(
    (
        *("rectangle", "putText", "circle", "line", "polylines", "fillPoly", "ellipse", "Draw"),
        *("drawContours", "drawMarker", "arrowedLine", "fillConvexPoly", "preprocess_input"),
        *("floodFill", "heapify", "heappush", "heappop", "insort", "setattr"),
    )
)


def _is_in_place(call: ast.Call, outer: set[str]) -> bool:
    """Tell whether a call may write into data that was there before."""
    for keyword in call.keywords:
        if keyword.arg in ("out", "output", "dst", "inplace", "overwrite_x", "overwrite_a"):
            return True
    names = {n.id for arg in call.args for n in ast.walk(arg) if isinstance(n, ast.Name)}
    return called_name(call) in _IN_PLACE and bool(names & outer)


_TRAINING = frozenset(("fit", "fit_generator", "train_on_batch", "train_step", "apply_gradients"))


def _trains(loop: ast.AST) -> bool:
    """Tell whether a loop trains in its turns, or runs something that may."""
    calls = [called_name(n) for n in ast.walk(loop) if isinstance(n, ast.Call)]
    return any(name in _TRAINING or "train" in name or "epoch" in name for name in calls)


def _changed_by(node: ast.AST) -> ast.expr | None:
    """Return what a node changes: an element of it, itself in place, or by a method."""
    if isinstance(node, ast.AugAssign):
        return _base(node.target)
    if isinstance(node, ast.Subscript):
        return None if isinstance(node.ctx, ast.Load) else _base(node)
    if not isinstance(node, ast.Call):
        return None
    name = called_name(node)
    if name == "set_value" and len(node.args) == 2:
        return _base(node.args[0])
    if isinstance(node.func, ast.Attribute) and name in CHANGING_METHODS:
        return _base(node.func.value)
    is_known = name in _IN_PLACE or name in ("shuffle", "copyto", "put", "place", "at")
    given = [k.value for k in node.keywords if k.arg == "out"]
    given += node.args[:1] if is_known else []
    return _base(given[0]) if given else None


def _base(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node


def _stands_for(module: Module, node: ast.expr, name: str, is_attribute: bool) -> bool:
    """Tell whether an expression is what has a name elsewhere, or shares memory with it."""
    if _is_called(node, name, is_attribute=is_attribute):
        scope = scope_of(module, node)
        return is_attribute or not (isinstance(scope, Def) and name in local_names(scope))
    if not isinstance(node, ast.Name):
        return False
    values = [
        statement.value
        for statement in module.all(ast.Assign, within=scope_of(module, node))
        if any(isinstance(t, ast.Name) and t.id == node.id for t in statement.targets)
    ]
    shared = [v for v in values if isinstance(v, ast.Name | ast.Attribute | ast.Subscript)]
    return any(_is_called(_base(v), name, is_attribute=is_attribute) for v in shared)


def _is_called(node: ast.expr, name: str, *, is_attribute: bool) -> bool:
    if is_attribute:
        return isinstance(node, ast.Attribute) and node.attr == name
    return isinstance(node, ast.Name) and node.id == name


def _root(node: ast.expr) -> ast.Name | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node if isinstance(node, ast.Name) else None
