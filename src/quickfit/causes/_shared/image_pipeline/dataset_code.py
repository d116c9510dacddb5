"""Writes the tf.data pipeline that gives what a generator over image files gave."""

from __future__ import annotations

import ast
import copy
import keyword
import re
from dataclasses import dataclass

from quickfit.causes._shared.image_pipeline import pictures as image_resize
from quickfit.causes._shared.image_pipeline.layout import WIDTH, broken
from quickfit.causes._shared.image_pipeline.pictures import Pictures
from quickfit.causes._shared.image_pipeline.values import (
    INDEX,
    KEY,
    Facts,
    Group,
    Item,
    Line,
    Many,
    Names,
    NotRecognisedError,
    Picture,
    Plan,
    Value,
    code,
)
from quickfit.code.syntax import Def, parameter_names, parse_code, parse_expression
from quickfit.findings import FixClass

_NAMES = ("label", "weight")
_DRAWN = ("all_paths", "all_labels", "all_weights")


@dataclass(frozen=True)
class Pipeline:
    """The new code: lines, the picture they load, and how far results may change."""

    lines: tuple[Line, ...]
    picture: Picture
    kind: FixClass
    elsewhere: dict[int, int]
    chance: str = "Each epoch has the same pictures, in another random order."

    @property
    def note(self) -> str:
        """What to know before making the change."""
        most = self.picture.difference
        if most:
            parts = [f"Pixels differ by at most {most} of 255, as measured on photos."]
        else:
            parts = ["The pixels are the same."]
        if self.picture.library == "cv2":
            parts.append("OpenCV turns photos as their EXIF data says, TensorFlow does not.")
        if self.kind is FixClass.MAY_CHANGE_RESULTS:
            parts.append(self.chance)
        return " ".join(parts)


def written(
    plan: Plan,
    facts: Facts,
    *,
    pictures: Pictures,
    scope: Def | None,
    dtypes: tuple[str, ...] = (),
    batch_order: str = "",
) -> Pipeline:
    """Return the code of a pipeline; its last line gives the dataset back.

    `dtypes` are those of a signature, where there is one. `batch_order` is the number of batches,
    as code, where Keras shuffles whole batches.
    """
    tf, line = pictures.tf, plan.origins["yield"]
    picture, items = _parts(plan.given, is_random=facts.is_random)
    picture = pictures.finished(picture, line, dtype=dtypes[0] if dtypes else "")
    _check_orders(picture, items, facts)
    by_batch = bool(batch_order)
    given = (picture,) if by_batch else plan.given
    loaded = [] if by_batch else items
    columns = [as_texts(whole(picture.path, "path", facts), pictures.names, scope)]
    columns += [_column(item, name, facts) for item, name in zip(items, _NAMES, strict=False)]
    batch = plan.origins.get("batch", line)
    elsewhere = dict.fromkeys(facts.batch_lines, batch)
    if facts.drawn is not None:
        rows = [*_drawn(picture, columns, facts, tf=tf, origin=batch, scope=scope)]
        rows += _load(picture, loaded, tf=tf, origin=line, dtypes=dtypes[1:], given=given)
        rows = _with_draws(rows, picture, facts, items, tf=tf)
        rows.append(Line(f"ds = {tf}.data.Dataset.counter()", batch))
    else:
        rows = [*_load(picture, loaded, tf=tf, origin=line, dtypes=dtypes[1:], given=given)]
        rows += [Line(row, batch) for row in slices(columns, tf, _taken(plan, columns, scope))]
        rows += _shuffles(plan, columns[0], picture, facts)
    if batch_order:
        rows += _batch_rows(plan, picture, items, tf=tf, order=batch_order, origin=batch)
        rows.append(Line(f"return ds.prefetch({tf}.data.AUTOTUNE)", line))
        return Pipeline(tuple(rows), picture, FixClass.MAY_CHANGE_RESULTS, elsewhere)
    if plan.carries:
        rows.append(Line("ds = ds.repeat()", plan.origins.get("repeat", batch)))
    rows.append(Line(f"ds = ds.map(load, num_parallel_calls={tf}.data.AUTOTUNE)", batch))
    if plan.batch_size is not None:
        drops = ", drop_remainder=True" if plan.drops else ""
        rows.append(Line(f"ds = ds.batch({code(plan.batch_size)}{drops})", batch))
    if plan.is_endless and not plan.carries and facts.drawn is None:
        rows.append(Line("ds = ds.repeat()", plan.origins.get("repeat", batch)))
    rows.append(Line(f"return ds.prefetch({tf}.data.AUTOTUNE)", line))
    is_random = bool(plan.shuffles) or facts.is_random or facts.drawn is not None
    kind = FixClass.MAY_CHANGE_RESULTS if is_random else FixClass.EQUIVALENT
    return Pipeline(tuple(rows), picture, kind, elsewhere, _chance(plan, facts))


def _chance(plan: Plan, facts: Facts) -> str:
    """Return what chance decides otherwise than before."""
    parts = []
    if facts.drawn is not None:
        parts.append("Other pictures are drawn, with the same chances.")
    if plan.shuffles:
        parts.append("Each epoch has the same pictures, in another random order.")
    if facts.is_random:
        parts.append("Other random numbers are drawn, with the same chances.")
    return " ".join(parts)


def _parts(given: tuple[Value, ...], *, is_random: bool) -> tuple[Picture, list[Many | Item]]:
    """Return the picture and what belongs to it."""
    values = [v.item if isinstance(v, Many) and isinstance(v.item, Picture) else v for v in given]
    pictures = [v for v in values if isinstance(v, Picture)]
    items = [v for v in values if isinstance(v, Many | Item)]
    if not pictures or len(pictures) + len(items) != len(values) or len(items) > len(_NAMES):
        raise NotRecognisedError
    if is_random and len(pictures) > 1:
        raise NotRecognisedError  # each may have been changed by chance in its own way
    if any(p != pictures[0] for p in pictures) or not isinstance(values[0], Picture):
        raise NotRecognisedError
    return pictures[0], items


def _item(value: Many | Item) -> Item:
    found = value.item if isinstance(value, Many) else value
    if not isinstance(found, Item):
        raise NotRecognisedError
    return found


def _check_orders(picture: Picture, items: list[Many | Item], facts: Facts) -> None:
    """Make sure that path and label are of the same item, and that all items are meant."""
    every = [picture.path, *map(_item, items)]
    if any(item.orders != picture.path.orders for item in every):
        raise NotRecognisedError
    if bool(facts.shuffles or facts.drawn) != bool(picture.path.orders):
        raise NotRecognisedError  # a shuffle that orders nothing
    used = [base for item in every for base in lists(item)]
    for length in facts.lengths:
        made = _first_item(facts.lists.get(code(length)))
        if made is not None and code(made.node) == INDEX:
            continue  # numbers of all items, whose own length is looked at too
        known = lists(made) if made is not None else [code(length)]
        if not any(_is_part(base, name) for base in used for name in known):
            raise NotRecognisedError


def _first_item(value: Value | None) -> Item | None:
    if isinstance(value, Group):
        return _first_item(value.values[0])
    return value if isinstance(value, Item) else None


def _is_part(base: str, name: str) -> bool:
    """Tell whether a list is another one, or a column of it."""
    return base == name or base.startswith((f"{name}[", f"{name}."))


def _column(value: Many | Item, name: str, facts: Facts) -> str:
    text = whole(_item(value), name, facts)
    for wrap in value.wraps if isinstance(value, Many) else ():
        text = wrap.replace("{}", text)
    return text


def _taken(plan: Plan, columns: list[str], scope: Def | None) -> set[str]:
    """Return the names that mean something in the function already."""
    nodes: list[ast.AST] = [*plan.prelude, *(parse_code(c) for c in columns)]
    nodes += [parse_code(condition) for condition, _ in plan.shuffles]
    nodes += [plan.batch_size] if plan.batch_size is not None else []
    names = {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}
    return names | (set(parameter_names(scope)) if scope is not None else set())


def slices(columns: list[str], tf: str, taken: set[str]) -> list[str]:
    """Return the lines that make a dataset of lists, with names for them where they are long."""
    tensors = columns[0] if len(columns) == 1 else f"({', '.join(columns)})"
    row = f"ds = {tf}.data.Dataset.from_tensor_slices({tensors})"
    names = [f"{name}s" for name in ("path", *_NAMES)][: len(columns)]
    if len(row) <= WIDTH or taken & set(names):
        return broken(row)
    made = [r for n, c in zip(names, columns, strict=True) for r in broken(f"{n} = {c}")]
    given = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return [*made, f"ds = {tf}.data.Dataset.from_tensor_slices({given})"]


def _load(
    picture: Picture,
    items: list[Many | Item],
    *,
    tf: str,
    origin: int,
    dtypes: tuple[str, ...],
    given: tuple[Value, ...],
) -> list[Line]:
    """Return the function that loads one picture."""
    names = list(_NAMES[: len(items)])
    first = picture.lines[0].origin
    rows = []
    if "nearest" in picture.helpers:
        rows += [Line(r, first) for r in image_resize.NEAREST.format(tf=tf).split("\n")]
        rows.append(Line("", first))
    rows.append(Line(f"def load({', '.join(['path', *names])}):", first))
    rows += [Line(f"    {row.text}", row.origin) for row in picture.lines]
    left = iter(zip(names, [*dtypes, "", ""], strict=False))
    results = []
    for value in given:
        is_picture = isinstance(value, Picture) or (
            isinstance(value, Many) and isinstance(value.item, Picture)
        )
        if is_picture:
            results.append("image")
            continue
        name, dtype = next(left)
        results.append(f"{tf}.cast({name}, {tf}.{dtype})" if dtype else name)
    rows.append(Line(f"    return {', '.join(results)}", origin))
    rows.append(Line("", origin))
    return rows


def _batch_rows(
    plan: Plan, picture: Picture, items: list[Many | Item], *, tf: str, order: str, origin: int
) -> list[Line]:
    """Return the lines that load whole batches, in an order that is made anew each time."""
    names = [f"{name}s" for name in _NAMES[: len(items)]]
    dtype = "float32" if picture.is_float else "uint8"
    loaded = f"{tf}.map_fn(load, paths, fn_output_signature={tf}.{dtype})"
    size = code(plan.batch_size) if plan.batch_size is not None else ""
    drops = ", drop_remainder=True" if plan.drops else ""
    shuffle = "ds = ds.shuffle(len(ds))"
    rows = [
        f"ds = ds.batch({size}{drops})",
        "# The order of batches, as Keras shuffles it.",
        f"if shuffle:\n    {shuffle}" if order == "shuffle" else shuffle,
        "",
        f"def load_batch({', '.join(['paths', *names])}):",
        f"    return {', '.join([loaded, *names])}",
        "",
        f"ds = ds.map(load_batch, num_parallel_calls={tf}.data.AUTOTUNE)",
    ]
    return [Line(row, origin) for row in rows]


def _shuffles(plan: Plan, column: str, picture: Picture, facts: Facts) -> list[Line]:
    bases = lists(picture.path) or [code(node) for node in facts.lengths]
    if not bases and plan.shuffles:
        raise NotRecognisedError
    length = f"len({bases[0].removesuffix('.iloc')})" if bases else ""
    found = plan.shuffles[:1]
    seed = f", seed={facts.seed}" if facts.seed else ""
    if len({condition for condition, _ in plan.shuffles}) > 1:
        raise NotRecognisedError
    return [
        Line(f"if {condition}:\n    ds = ds.shuffle({length}{seed})", line)
        if condition
        else Line(f"ds = ds.shuffle({length}{seed})", line)
        for condition, line in found
    ]


# -- pictures that are drawn -------------------------------------------------------------------


def _drawn(
    picture: Picture,
    columns: list[str],
    facts: Facts,
    *,
    tf: str,
    origin: int,
    scope: Def | None,
) -> list[Line]:
    """Return the lines that hold what is drawn from as tensors."""
    taken = set(parameter_names(scope)) if scope is not None else set()
    taken |= {n.id for c in columns for n in ast.walk(parse_code(c)) if isinstance(n, ast.Name)}
    if facts.drawn is not None:
        taken |= {n.id for n in ast.walk(facts.drawn[0]) if isinstance(n, ast.Name)}
    if taken & {*_DRAWN, "number"}:
        raise NotRecognisedError
    rows = []
    for name, column in zip(_DRAWN, columns, strict=False):
        rows += [Line(row, origin) for row in broken(f"{name} = {tf}.constant({column})")]
    return [*rows, Line("", origin)]


def _with_draws(
    rows: list[Line], picture: Picture, facts: Facts, items: list[Many | Item], *, tf: str
) -> list[Line]:
    """Return the function that loads one picture as one that draws it first."""
    names = ["path", *_NAMES[: len(items)]]
    source = code(facts.drawn[0]) if facts.drawn else ""
    draw = f"    number = {tf}.random.uniform((), maxval=len({source}), dtype={tf}.int32)"
    line = facts.drawn[1] if facts.drawn else 0
    made: list[Line] = []
    for row in rows:
        if row.text.startswith("def load("):
            made += [Line("def load(_):", row.origin), Line(draw, line)]
            held = zip(names, _DRAWN, strict=False)
            made += [Line(f"    {name} = {tensor}[number]", line) for name, tensor in held]
        else:
            made.append(row)
    return made


def whole(item: Item, hint: str, facts: Facts) -> str:
    """Return the list of an expression over all items, as code.

    `hint` names one item where the list is made by a comprehension.
    """
    direct = _direct(item.node)
    if direct is not None:
        return direct
    bases = _bases(item.node)
    if len(bases) != 1 or bases[0].endswith(".iloc") or _uses_number(item.node):
        return _by_number(item.node, facts)
    base = bases[0]
    by_parts = _by_parts(item.node, base, hint, facts)
    if by_parts:
        return by_parts
    names = {n.id for n in ast.walk(item.node) if isinstance(n, ast.Name)}
    variable = next((n for n in (_singular(base), hint, "item") if n not in names), "")
    text = code(_with(item.node, f"{base}[{INDEX}]", variable))
    if INDEX in text or not variable:
        raise NotRecognisedError
    return f"[{text} for {variable} in {base}]"


def lists(item: Item) -> list[str]:
    """Return the lists that an item is taken from."""
    return _bases(item.node)


def as_texts(column: str, names: Names, scope: Def | None) -> str:
    """Return a list of paths as texts, which TensorFlow takes; other paths it does not."""
    node = parse_expression(column)
    if names.is_text(node, scope):
        return column
    if isinstance(node, ast.ListComp):
        if names.is_text(node.elt, scope):
            return column
        return f"[str({code(node.elt)}) {column[len(code(node.elt)) + 2 :]}"
    return f"[str(path) for path in {column}]"


def _direct(node: ast.expr) -> str | None:
    """Return the list that the items are taken from unchanged."""
    if not isinstance(node, ast.Subscript):
        return None
    if code(node.slice) == INDEX:
        base = code(node.value)
        if base.endswith(".iloc"):
            return f"{base.removesuffix('.iloc')}.tolist()"
        return base
    row, name = node.value, node.slice
    if not isinstance(row, ast.Subscript) or code(row.slice) != INDEX:
        return None
    is_text = isinstance(name, ast.Constant) and isinstance(name.value, str)
    if is_text and code(row.value).endswith(".iloc"):
        return f"{code(row.value).removesuffix('.iloc')}[{code(name)}].tolist()"
    return None


def _uses_number(node: ast.expr) -> bool:
    """Tell whether the number of an item is used for more than to take it from a list."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Subscript)]
    taken = sum(code(part.slice) == INDEX for part in parts)
    uses = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in (INDEX, KEY)]
    return len(uses) != taken


def _by_number(node: ast.expr, facts: Facts) -> str:
    """Return a list that is made by the numbers of the items, exactly as the user took them."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    known = [facts.drawn[0]] if facts.drawn else facts.lengths
    length = next((node for node in known if code(node) not in facts.lists), None)
    if length is None or "i" in names:
        raise NotRecognisedError
    made = _with(_with(node, INDEX, "i"), KEY, "i")
    return f"[{code(made)} for i in range(len({code(length)}))]"


def _bases(node: ast.expr) -> list[str]:
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Subscript)]
    found = [code(part.value) for part in parts if code(part.slice) in (INDEX, KEY)]
    return list(dict.fromkeys(found))


def _with(node: ast.expr, old: str, new: str) -> ast.expr:
    """Return an expression with a part of it replaced by a name."""

    class Replacing(ast.NodeTransformer):
        def visit(self, part: ast.AST) -> ast.AST:
            if isinstance(part, ast.Subscript | ast.Name) and code(part) == old:
                return ast.Name(new, ast.Load())
            return self.generic_visit(part)

    return Replacing().visit(copy.deepcopy(node))  # type: ignore[return-value]


def _by_parts(node: ast.expr, base: str, hint: str, facts: Facts) -> str:
    """Return the list of one part of items that the user takes apart; '' where it is not that."""
    width = facts.widths.get(f"{base}[{INDEX}]", 0)
    for at in range(width):
        if code(node) == f"{base}[{INDEX}][{at}]":
            target = [hint if n == at else "_" for n in range(width)]
            return f"[{hint} for {', '.join(target)} in {base}]"
    return ""


def _singular(base: str) -> str:
    """Return a name for one item of a list."""
    name = re.sub(r"\W.*$", "", base.rsplit(".", 1)[-1]) or "item"
    known = {"indices": "index", "idx": "i", "idxs": "i", "order": "i", "entries": "entry"}
    if name in known:
        return known[name]
    if name.endswith("ies"):
        return name[:-3] + "y"
    found = name[:-1] if name.endswith("s") and len(name) > 2 else "item"
    return "item" if keyword.iskeyword(found) or found == "clas" else found
