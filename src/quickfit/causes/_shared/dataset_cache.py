"""Edits that put a `cache` where every epoch makes the same again, also of images as bytes."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import replace

from quickfit.causes._shared.dataset_chains import (
    as_one,
    inserted,
    is_before_repeat,
    part_of,
    reordered,
)
from quickfit.code import Module
from quickfit.code.datasets import PASSING, READS_ALL, LocalChain, chain_at, chain_of
from quickfit.code.edits import is_in_conflict
from quickfit.code.scopes import (
    binding_in_block,
    only_binding,
    reads_of_assignment,
    target_of,
    value_of_statement,
)
from quickfit.code.syntax import argument, name_of
from quickfit.findings import Change, Edit, FixClass

# Behind others an epoch may end before the cache has seen its last element.
_READING = READS_ALL - {"cache"}


def cached(module: Module, line: int, *, method: str, is_ordered: bool = True) -> Change | None:
    """Return the change that keeps what the call of a method at a line gives.

    `is_ordered` is False where a shuffle that is not part of the chain comes before: its order
    would be kept for all epochs, so another one has to follow.
    """
    found = chain_at(module, line, method)
    return cached_at(module, *found, is_ordered=is_ordered) if found is not None else None


def cached_at(
    module: Module, chain: LocalChain, place: int, *, is_ordered: bool = True
) -> Change | None:
    """Return the change that keeps what the operation at a place of a chain gives."""
    step, later = chain.steps[place], chain.steps[place + 1 :]
    if any(other.name not in _READING for other in later):
        return None
    if is_ordered and any(other.name in ("shuffle", "repeat") for other in chain.steps[:place]):
        return None
    is_mixed = any(other.name == "shuffle" for other in later)
    if not _is_read_once(module, chain, place) or not (is_ordered or is_mixed):
        return None
    edit = inserted(module, step, "cache()")
    if edit is None:
        return None
    return Change(
        "Keep the result in memory",
        FixClass.SAME_RESULTS if is_ordered else FixClass.MAY_CHANGE_RESULTS,
        (edit,),
        "" if is_ordered else "The order before the cache is that of the first epoch from then on.",
    )


def cached_as_bytes(module: Module, line: int, kept: Change) -> Change | None:
    """Return the change that keeps images as bytes, where the map at a line makes them floats."""
    handed = uint8_input(module, line)
    if handed is None or is_in_conflict(handed.edits, kept.edits):
        return None
    note = f"The cache takes a quarter of the memory. {handed.note}"
    edits = (*handed.edits, *kept.edits)
    return Change("Keep the images in memory as bytes", FixClass.EQUIVALENT, edits, note)


def _is_read_once(module: Module, chain: LocalChain, place: int) -> bool:
    """Tell whether one chain reads what an operation gives: two would fill the cache in turns.

    What a name stands for at the end of a chain may be read, to its end, as often as one likes.
    """
    step = chain.steps[place]
    if place < len(chain.steps) - 1:
        return step.is_private
    statement = module.statement(step.call)
    if target_of(statement) is None:
        return True
    readers = reads_of_assignment(module, statement)
    if readers is None:
        return False
    is_one = len(readers) <= 1 or all(_goes_on(module, reader) for reader in readers)
    return is_one or all(_reads_all(module, reader) for reader in readers)


def _goes_on(module: Module, reader: ast.Name) -> bool:
    """Tell whether a statement such as `ds = ds.batch(2)` or `return ds` ends what it reads.

    Then there is one chain, whichever of its branches are taken.
    """
    statement, method = module.statement(reader), module.parent(reader)
    if isinstance(method, ast.Attribute) and method.attr not in READS_ALL:
        return False
    named = [node for node in module.all(ast.Name, within=statement) if node.id == reader.id]
    is_looped = module.around(statement, ast.For, ast.While, ast.FunctionDef, ast.Module)
    is_final = isinstance(statement, ast.Return) and len(named) == 1
    is_rebound = target_of(statement) == reader.id and len(named) == 2
    return (is_final or is_rebound) and not isinstance(is_looped, ast.For | ast.While)


def _reads_all(module: Module, reader: ast.Name) -> bool:
    """Tell whether a dataset is read to its end at a place, by `fit` and its like."""
    call = module.parent(reader)
    call = module.parent(call) if isinstance(call, ast.keyword) else call
    function = call.func if isinstance(call, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr in ("fit", "evaluate", "predict")


def cached_before_shuffle(
    module: Module, line: int, *, method: str, steady: Collection[int], is_repeated: bool = False
) -> Change | None:
    """Return the change that moves a shuffle of small elements behind the maps and a cache.

    A shuffle draws places, whatever lies there, so the order of elements stays the same, unless
    a `repeat` comes next: the two run as one.
    """
    found = chain_at(module, line, method)
    if found is None:
        return None
    chain, last = found
    first = last
    while first >= 0 and chain.steps[first].name == "map" and chain.steps[first].line in steady:
        first -= 1
    if first < 0 or first == last or chain.steps[first].name != "shuffle":
        return None
    if any(step.name not in _READING for step in chain.steps[last + 1 :]):
        return None
    edits = _moved_behind(module, chain, first, last)
    if edits is None:
        return None
    is_fused = is_before_repeat(chain, last, is_repeated=is_repeated)
    return Change(
        "Keep the result in memory, and shuffle it",
        FixClass.MAY_CHANGE_RESULTS if is_fused else FixClass.SAME_RESULTS,
        edits,
        "The order of elements is random as before, but another one." if is_fused else "",
    )


def _moved_behind(
    module: Module, chain: LocalChain, first: int, last: int
) -> tuple[Edit, ...] | None:
    """Return the edits that write `.cache()` and an operation behind others."""
    order = [*range(first + 1, last + 1), first]
    edits = reordered(module, chain, first, order, keeps_count=True)
    span = part_of(module, chain.steps[first].call)
    if edits is None or span is None:
        return None
    code = module.between(*span)
    cached = [replace(edit, text=_cache_before(module, edit, code)) for edit in edits]
    return as_one(module, cached) if tuple(cached) != edits else None


def _cache_before(module: Module, edit: Edit, code: str) -> str:
    """Return the text of an edit with `.cache()` in front of an operation, laid out like that."""
    indent = module.lines[edit.begin[0] - 1][: edit.begin[1]]
    is_own_line = edit.text.startswith(".") and not indent.strip()
    added = f".cache()\n{indent}{code}" if is_own_line else f".cache(){code}"
    return edit.text.replace(code, added, 1)


def take_before_cache(module: Module, line: int) -> Change | None:
    """Return the change that puts a `take` right behind the cache at a line before it."""
    found = chain_at(module, line, "cache")
    if found is None or found[1] + 1 >= len(found[0].steps):
        return None
    chain, place = found
    if chain.steps[place + 1].name != "take" or not _is_in_memory(chain.steps[place].call):
        return None
    if any(step.name == "shuffle" for step in chain.steps[:place]):
        return None  # each epoch takes others
    edits = reordered(module, chain, place, [place + 1, place])
    return (
        Change("Take first, then cache", FixClass.SAME_RESULTS, as_one(module, edits))
        if edits
        else None
    )


def cache_before_repeat(module: Module, line: int, *, steady: Collection[int]) -> Change | None:
    """Return the change that puts an endless `repeat` before the cache at a line behind it."""
    found = chain_at(module, line, "cache")
    if found is None:
        return None
    chain, place = found
    first = place - 1
    while first >= 0 and chain.steps[first].name == "map" and chain.steps[first].line in steady:
        first -= 1
    if first < 0 or chain.steps[first].name != "repeat":
        return None
    if any(step.name == "shuffle" for step in chain.steps[:first]):
        return None  # the cache would keep one order for all epochs
    if not (_is_endless(chain.steps[first].call) and _is_in_memory(chain.steps[place].call)):
        return None
    edits = reordered(module, chain, first, [*range(first + 1, place + 1), first])
    return (
        Change("Cache before the repeat", FixClass.SAME_RESULTS, as_one(module, edits))
        if edits
        else None
    )


def _is_in_memory(call: ast.Call) -> bool:
    return not call.args and not call.keywords


def _is_endless(call: ast.Call) -> bool:
    given = argument(call, "count", 0)
    if given is None:
        return not call.args and not call.keywords
    return (isinstance(given, ast.Constant) and given.value is None) or ast.unparse(given) == "-1"


Function = ast.FunctionDef | ast.Lambda
# They take elements of every type.
_ANY_TYPE = PASSING | {"batch"}
_DECODERS = ("decode_jpeg", "decode_png", "decode_image", "decode_bmp", "decode_and_crop_jpeg")
# They give bytes for bytes.
_KEEP_TYPE = ("random_crop", "central_crop", "random_flip_left_right", "random_flip_up_down")
# What may be done with the model: it must not be given anything else than these datasets.
_USES = ("fit", "evaluate", "compile", "summary", "count_params")
_DATA = ("x", "validation_data")


def uint8_input(module: Module, line: int) -> Change | None:
    """Return the change for the map at a line that makes floats of decoded images, as its last."""
    calls = [
        call
        for call in module.all(ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "map"
    ]
    here = [call for call in calls if call.func.end_lineno == line and call.args]
    if len(here) != 1:
        return None
    chain, function = chain_of(module, here[0]), _function(module, here[0].args[0])
    scaled = _scaled(module, function) if function is not None else None
    model = _model(module, chain) if _is_last_map(chain, here[0]) else None
    first = _first_layer(module, model) if model is not None else None
    if scaled is None or first is None:
        return None
    return Change(
        "Hand the images on as bytes, and scale them in the model",
        FixClass.EQUIVALENT,
        (scaled, first),
        "The model then takes values from 0 to 255, also where it is used later.",
    )


def _is_last_map(chain: LocalChain, call: ast.Call) -> bool:
    later = chain.steps[chain.index(call) + 1 :]
    return all(step.name in _ANY_TYPE for step in later)


def _function(module: Module, given: ast.expr) -> Function | None:
    """Return the function of a map, if nothing else uses it."""
    if isinstance(given, ast.Lambda):
        return given
    name = given.id if isinstance(given, ast.Name) else ""
    found = [f for f in module.all(ast.FunctionDef) if f.name == name and not f.decorator_list]
    named = [n for n in module.all(ast.Name) if n.id == name]
    return found[0] if len(found) == 1 and len(named) == 1 else None


def _scaled(module: Module, function: Function) -> Edit | None:
    """Return the edit that takes `tf.cast(image, tf.float32) / 255.0` from what is returned."""
    if isinstance(function, ast.Lambda):
        return None  # of what it is given, the type is not told
    returns = module.all(ast.Return, within=function)
    value = returns[0].value if len(returns) == 1 and returns[0] in function.body else None
    first = value.elts[0] if isinstance(value, ast.Tuple) and value.elts else value
    statement = binding_in_block(module, first) if isinstance(first, ast.Name) else None
    if statement is not None:
        is_once = len(reads_of_assignment(module, statement) or ()) == 1
        first = value_of_statement(statement) if is_once else None
    image = _in_scaling(first) if first is not None else None
    if first is None or image is None or not _is_bytes(module, image, 0):
        return None
    if statement is not None and isinstance(image, ast.Name) and image.id == target_of(statement):
        return module.remove(statement)
    return module.replace(first, module.code(image))


def _in_scaling(value: ast.expr) -> ast.expr | None:
    """Return the image that an expression casts to floats and divides by 255."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
        is_255 = isinstance(value.right, ast.Constant) and value.right.value == 255
        call = value.left if is_255 else None
        name = "cast"
    else:
        call, name = value, "convert_image_dtype"
    if not isinstance(call, ast.Call) or name_of(call.func) != name or len(call.args) != 2:
        return None
    return call.args[0] if name_of(call.args[1]) == "float32" else None


def _is_bytes(module: Module, value: ast.expr, depth: int) -> bool:
    """Tell whether an image is certainly one of bytes."""
    if isinstance(value, ast.Name):
        statement = binding_in_block(module, value)
        inner = value_of_statement(statement) if statement is not None else None
        return inner is not None and depth < 10 and _is_bytes(module, inner, depth + 1)
    if isinstance(value, ast.Subscript):
        return _is_bytes(module, value.value, depth + 1)
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    name, given = value.func.attr, {k.arg: k.value for k in value.keywords}
    if name in _DECODERS:
        return "dtype" not in given and None not in given and len(value.args) < 3
    is_nearest = name == "resize" and "nearest" in ast.unparse(given.get("method", value.func))
    return (name in _KEEP_TYPE or is_nearest) and _is_bytes(module, value.args[0], depth + 1)


# -- the model ---------------------------------------------------------------------------------


def _model(module: Module, chain: LocalChain) -> ast.stmt | None:
    """Return the statement that makes the one model which is given the dataset, and only that."""
    statement = module.statement(chain.steps[-1].call)
    if value_of_statement(statement) is not chain.steps[-1].call or target_of(statement) is None:
        return None
    readers = reads_of_assignment(module, statement)
    models = {_trained_by(module, reader) for reader in readers or ()}
    name = next(iter(models)) if len(models) == 1 else None
    if name is None or readers is None:
        return None
    made = [s for s in ast.walk(module.tree) if isinstance(s, ast.stmt) and target_of(s) == name]
    return made[0] if len(made) == 1 and _is_used_for_it(module, name, readers) else None


def _trained_by(module: Module, reader: ast.Name) -> str | None:
    """Return the model whose `fit` or `evaluate` is given a dataset."""
    call = module.parent(reader)
    if isinstance(call, ast.keyword):
        call = module.parent(call) if call.arg in ("validation_data", "x") else None
    elif not (isinstance(call, ast.Call) and call.args[:1] == [reader]):
        return None
    function = call.func if isinstance(call, ast.Call) else None
    is_known = isinstance(function, ast.Attribute) and function.attr in ("fit", "evaluate")
    owner = function.value if is_known and isinstance(function, ast.Attribute) else None
    return owner.id if isinstance(owner, ast.Name) else None


def _is_used_for_it(module: Module, name: str, readers: list[ast.Name]) -> bool:
    """Tell whether a model is given nothing but one dataset."""
    for node in module.all(ast.Name):
        if node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        method = module.parent(node)
        call = module.parent(method) if isinstance(method, ast.Attribute) else None
        if not isinstance(call, ast.Call) or not isinstance(method, ast.Attribute):
            return False
        if method.attr not in _USES:
            return False
        data = [*call.args[:1], *(k.value for k in call.keywords if k.arg in _DATA)]
        if method.attr in ("fit", "evaluate") and any(d not in readers for d in data):
            return False
    return True


def _first_layer(module: Module, model: ast.stmt) -> Edit | None:
    """Return the edit that puts a `Rescaling` behind the input of a model."""
    call = value_of_statement(model)
    name = name_of(call.func) if isinstance(call, ast.Call) else ""
    if not isinstance(call, ast.Call) or not call.args:
        return None
    if name == "Sequential" and isinstance(call.args[0], ast.List):
        return _in_sequential(module, call.args[0].elts)
    if name == "Model" and isinstance(call.args[0], ast.Name):
        return _in_functional(module, call.args[0])
    return None


def _in_sequential(module: Module, layers: list[ast.expr]) -> Edit | None:
    if len(layers) < 2 or not _is_plain_input(layers[0]):
        return None
    second = layers[1]
    prefix = _prefix(second.func) if isinstance(second, ast.Call) else None
    if prefix is None:
        return None
    line = module.lines[module.begin(second)[0] - 1]
    indent = line[: len(line) - len(line.lstrip())]
    gap = f",\n{indent}" if module.begin(second)[1] == len(indent) else ", "
    place = module.begin(second)
    return Edit(module.path, place, place, f"{prefix}Rescaling(1 / 255){gap}")


def _in_functional(module: Module, given: ast.Name) -> Edit | None:
    statement = binding_in_block(module, given) or only_binding(module, given)
    value = value_of_statement(statement) if statement is not None else None
    readers = reads_of_assignment(module, statement) if statement is not None else None
    if value is None or not _is_plain_input(value) or readers is None or len(readers) != 2:
        return None
    first = readers[0]
    layer = module.parent(first)
    made = layer.func if isinstance(layer, ast.Call) else None
    prefix = _prefix(made.func) if isinstance(made, ast.Call) else None
    if prefix is None or first is given:
        return None
    return module.replace(first, f"{prefix}Rescaling(1 / 255)({first.id})")


def _prefix(function: ast.expr) -> str | None:
    """Return how layers are named here, such as `keras.layers.`."""
    owner = function.value if isinstance(function, ast.Attribute) else None
    return f"{ast.unparse(owner)}." if owner is not None and name_of(owner) == "layers" else None


def _is_plain_input(value: ast.expr) -> bool:
    is_input = isinstance(value, ast.Call) and name_of(value.func) in ("Input", "InputLayer")
    return (
        is_input
        and isinstance(value, ast.Call)
        and all(keyword.arg in ("shape", "name", "batch_size") for keyword in value.keywords)
    )
