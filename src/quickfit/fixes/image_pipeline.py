"""Writes the tf.data pipeline that gives what a generator over image files gave."""

from __future__ import annotations

import io
import tokenize
from dataclasses import dataclass

from quickfit.findings import FixClass
from quickfit.fixes import image_resize
from quickfit.fixes.image_batches import Plan
from quickfit.fixes.image_code import Pictures
from quickfit.fixes.image_columns import as_texts, lists, whole
from quickfit.fixes.image_values import (
    INDEX,
    Facts,
    Group,
    Item,
    Line,
    Many,
    NotRecognisedError,
    Picture,
    Value,
    code,
)
from quickfit.fixes.script import Function, Script

_NAMES = ("label", "weight")


@dataclass(frozen=True)
class Pipeline:
    """The new code: lines, the picture they load, and how far results may change."""

    lines: tuple[Line, ...]
    picture: Picture
    kind: FixClass
    elsewhere: dict[int, int]

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
            parts.append("Each epoch has the same pictures, in another random order.")
        return " ".join(parts)


def written(
    plan: Plan,
    facts: Facts,
    *,
    pictures: Pictures,
    scope: Function | None,
    dtypes: tuple[str, ...] = (),
    batch_order: str = "",
) -> Pipeline:
    """Return the code of a pipeline; its last line gives the dataset back.

    `dtypes` are those of a signature, where there is one. `batch_order` is the number of batches,
    as code, where Keras shuffles whole batches.
    """
    tf, line = pictures.tf, plan.origins["yield"]
    picture, items = _parts(plan.given)
    picture = pictures.finished(picture, line, dtype=dtypes[0] if dtypes else "")
    _check_orders(picture, items, facts)
    by_batch = bool(batch_order)
    given = (picture,) if by_batch else plan.given
    loaded = [] if by_batch else items
    rows = [*_load(picture, loaded, tf=tf, origin=line, dtypes=dtypes[1:], given=given)]
    columns = [as_texts(whole(picture.path, "path"), pictures.names, scope)]
    columns += [_column(item, name) for item, name in zip(items, _NAMES, strict=False)]
    tensors = columns[0] if len(columns) == 1 else f"({', '.join(columns)})"
    batch = plan.origins.get("batch", line)
    elsewhere = dict.fromkeys(facts.batch_lines, batch)
    rows.append(Line(f"ds = {tf}.data.Dataset.from_tensor_slices({tensors})", batch))
    rows += _shuffles(plan, columns[0], picture)
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
    if plan.is_endless and not plan.carries:
        rows.append(Line("ds = ds.repeat()", plan.origins.get("repeat", batch)))
    rows.append(Line(f"return ds.prefetch({tf}.data.AUTOTUNE)", line))
    kind = FixClass.MAY_CHANGE_RESULTS if plan.shuffles else FixClass.EQUIVALENT
    return Pipeline(tuple(rows), picture, kind, elsewhere)


def _parts(given: tuple[Value, ...]) -> tuple[Picture, list[Many | Item]]:
    """Return the picture and what belongs to it."""
    values = [v.item if isinstance(v, Many) and isinstance(v.item, Picture) else v for v in given]
    pictures = [v for v in values if isinstance(v, Picture)]
    items = [v for v in values if isinstance(v, Many | Item)]
    if not pictures or len(pictures) + len(items) != len(values) or len(items) > len(_NAMES):
        raise NotRecognisedError
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
    if bool(facts.shuffles) != bool(picture.path.orders):
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


def _column(value: Many | Item, name: str) -> str:
    text = whole(_item(value), name)
    for wrap in value.wraps if isinstance(value, Many) else ():
        text = wrap.format(text)
    return text


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


def _shuffles(plan: Plan, column: str, picture: Picture) -> list[Line]:
    length = f"len({lists(picture.path)[0].removesuffix('.iloc')})"
    found = plan.shuffles[:1]
    if len({condition for condition, _ in plan.shuffles}) > 1:
        raise NotRecognisedError
    return [
        Line(f"if {condition}:\n    ds = ds.shuffle({length})", line)
        if condition
        else Line(f"ds = ds.shuffle({length})", line)
        for condition, line in found
    ]


def with_comments(
    lines: tuple[Line, ...],
    script: Script,
    first_line: int,
    last_line: int,
    elsewhere: dict[int, int] | None = None,
) -> str:
    """Return the code with the user's comments at the lines that do what they are about.

    `elsewhere` tells of lines of the user what line they now belong to.
    """
    known = elsewhere or {}
    origins = {line.origin for line in lines} | set(known)
    waiting: dict[int, list[str]] = {}
    for at, text in comments_between(script, first_line, last_line):
        place = min((o for o in origins if o >= at), default=lines[-1].origin)
        waiting.setdefault(known.get(place, place), []).append(text)
    rows: list[str] = []
    for line in lines:
        indent = line.text[: len(line.text) - len(line.text.lstrip())]
        if line.text:
            rows += [f"{indent}{text}" for text in waiting.pop(line.origin, [])]
        rows.append(line.text)
    return "\n".join(rows)


def comments_between(script: Script, first_line: int, last_line: int) -> list[tuple[int, str]]:
    """Return the comments between two lines, with their lines."""
    tokens = tokenize.generate_tokens(io.StringIO(script.text).readline)
    return [
        (token.start[0], token.string)
        for token in tokens
        if token.type == tokenize.COMMENT and first_line <= token.start[0] <= last_line
    ]
