"""Compares the fields that the user gave with the first records: a wrong name is told at once."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from quickfit.data.reading.inference import inferred, kind_of, readable_examples
from quickfit.data.reading.spec import Field, Spec
from quickfit.errors import PipelineError, UsageError

Examples = Sequence[Mapping[str, Any]]  # protobuf messages by name


def check_given(spec: Spec, files: Mapping[str, str]) -> None:
    """Compare fields with the first records of these files (path: compression).

    What only some of them contradict is told, or left out, when it is read.

    Raises:
        UsageError: none of the records has a field as it was given.
    """
    examples = readable_examples(files)
    if not examples:
        return  # told, with the reason, when they are read
    for name, given in spec.fields.items():
        field = _in_our_words(given)
        if field is not None and (problem := _problem(name, field, examples)):
            raise UsageError(
                f"records(features=...): {problem}.\nThe fields in the files are "
                f"{_fields_there(files, examples)}"
            )


def _in_our_words(given: Any) -> Field | None:  # Field, or a feature of tf.io
    """Return what a field must be like in every record; None where nothing is known."""
    import tensorflow as tf

    if isinstance(given, Field):
        return given
    if isinstance(given, tf.io.FixedLenFeature) and given.default_value is None:
        return Field(given.dtype.name, tuple(given.shape))
    return None


def _problem(name: str, field: Field, examples: Examples) -> str:
    found = [kind_of(example[name]) for example in examples if name in example]
    if not found:
        # A list that is empty in most records may be missing from the first ones.
        return "" if field.shape is None else _unknown(name, examples)
    wanted = "string" if field.kind == "image" else field.kind
    kinds = {kind for kind, values in found if values}
    if kinds and wanted not in kinds:
        return f"{name!r} is given as '{field}', and is {' or '.join(sorted(kinds))} in the files"
    lengths = sorted({len(values) for _, values in found})
    if field.shape is None or math.prod(field.shape) in lengths:
        return ""
    several = f"{lengths[0]:,}" if len(lengths) == 1 else f"{lengths[0]:,} to {lengths[-1]:,}"
    count = f"{several} value{'' if lengths == [1] else 's'}"
    return (
        f"{name!r} is given as '{field}', and has {count} in a record; "
        f"any number of them is '{wanted}[]'"
    )


def _unknown(name: str, examples: Examples) -> str:
    names = sorted(set().union(*examples))
    near = difflib.get_close_matches(name, names, 1)
    hint = f" (perhaps {near[0]!r} is meant)" if near else ""
    return f"no record has a field {name!r}{hint}"


def _fields_there(files: Mapping[str, str], examples: Examples) -> str:
    try:
        return str(inferred(files))
    except PipelineError:  # files differ, or a record is damaged
        return ", ".join(sorted(set().union(*examples)))
