"""What the JSON inside a recording may look like.

A recording may be mangled or made up. Whatever passes here has the types that the code behind
the reader counts on; keys that nobody knows are left alone, so that a newer quickfit may add some.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

# A JSON value may be anything, hence Any throughout this file.
Check = Callable[[Any], bool]
# No time, counter or size is larger; beyond it sums would end in infinity.
LARGEST = 2.0**64


def unpacked(text: str | None) -> Any:
    """Return what a JSON text means, with only such strings as can be printed.

    Raises:
        ValueError: it is not JSON, or is nested too deeply to be ours.
    """
    if text is None:
        return None
    try:
        value = json.loads(text)
        if "\\ud" in text.lower():
            # A lone half of a surrogate pair: a file name that is not UTF-8.
            printable = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
            value = json.loads(printable)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return value


def is_number(value: Any) -> bool:
    """Tell whether a value is a number one can calculate with."""
    return type(value) in (int, float) and -LARGEST <= value <= LARGEST


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number."""
    return type(value) is int and -LARGEST <= value <= LARGEST


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_positive(value: Any) -> bool:
    return is_number(value) and value > 0


def _may_miss(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _object_of(is_key: Callable[[str], bool], check: Check) -> Check:
    return lambda value: (
        isinstance(value, dict) and all(is_key(k) and check(v) for k, v in value.items())
    )


def _facts(known: Mapping[str, Check]) -> Check:
    """Return the check of an object whose known keys, where they are set, have known types."""

    def check(value: Any) -> bool:
        if not isinstance(value, dict):
            return False
        there = value.keys() & known.keys()
        return all(value[name] is None or known[name](value[name]) for name in there)

    return check


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_argument(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(map(_is_text, value))


def _is_device(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value))


def _is_nvidia_device(value: Any) -> bool:
    return _facts(
        {
            "name": _is_text,
            "capability": _list_of(is_whole),
            "is_mig": _is_flag,
            "memory_bytes": _may_miss(is_whole),
        }
    )(value) and {"name", "capability"} <= set(value)


_is_shape: Check = _list_of(_may_miss(is_whole))


def _is_batch_part(value: Any) -> bool:
    """Tell whether a value is role, type and shape of a tensor."""
    return (
        isinstance(value, list)
        and len(value) == 3
        and all(map(_is_text, value[:2]))
        and _is_shape(value[2])
    )


def _is_span(value: Any) -> bool:
    """Tell whether a value is a file and its first and last line."""
    return (
        isinstance(value, list)
        and len(value) == 3
        and _is_text(value[0])
        and all(map(is_whole, value[1:]))
    )


def _is_broadcast(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _is_text(value.get("operation"))
        and all(_is_shape(value.get(name)) for name in ("labels", "outputs", "result"))
        and len(value["labels"]) > 0 < len(value["outputs"])
        and _may_miss(_is_text)(value.get("file"))
        and _may_miss(is_whole)(value.get("line"))
    )


# The fields of a node, in the order of `pipeline_model.snapshot.Node`.
_NODE: tuple[Check, ...] = (
    is_whole,
    _is_text,
    is_whole,
    is_number,
    is_whole,
    is_whole,
    _may_miss(is_number),
    _may_miss(is_number),
    is_whole,
    is_whole,
    _is_flag,
    _list_of(is_whole),
)


def _is_node(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == len(_NODE)
        and all(check(field) for check, field in zip(_NODE, value, strict=True))
    )


# Columns that hold JSON; the reader hands out what they mean.
SHAPES: dict[tuple[str, str], Check] = {
    ("loops", "facts"): _facts(
        {
            "steps_per_execution": lambda value: is_whole(value) and value > 0,
            "model_number": is_whole,
            "compile_file": _is_text,
            "compile_line": is_whole,
            "run_functions_eagerly_file": _is_text,
            "run_functions_eagerly_line": is_whole,
            "steps_per_epoch": is_whole,
            "data_batches": is_whole,
            "validation_freq": is_whole,
            "validation_steps": is_whole,
            "validation_batch_size": is_whole,
            "batch": _list_of(_is_batch_part),
            "body": _is_span,
            "variable_dtype": _is_text,
            "labels_broadcast": _is_broadcast,
            "labels_followed": _is_flag,
        }
    ),
    ("datasets", "inputs"): _list_of(is_whole),
    ("datasets", "facts"): _facts(
        {
            "buffer_size": is_whole,
            "batch_size": is_whole,
            "num_parallel_calls": is_whole,
            "cycle_length": is_whole,
            "count": is_whole,
            "element_bytes": is_whole,
            "cardinality": is_whole,
            "function_file": _is_text,
            "function_line": is_whole,
            "num_shards": is_whole,
            "call": _is_text,
            "made_in": _is_text,
            "sub": _list_of(is_whole),
        }
    ),
    ("pipelines", "nodes"): _list_of(_is_node),
    # Name, kind and value of each argument; `merged` is of how many traces a row tells.
    ("traces", "arguments"): _may_miss(
        _facts(
            {
                "args": _list_of(_is_argument),
                "more": is_whole,
                "jit": _is_flag,
                "relaxed": _is_flag,
                "merged": lambda value: is_whole(value) and value > 0,
                "products": lambda value: _list_of(is_whole)(value) and len(value) == 2,
            }
        )
    ),
    ("stacks", "frames"): _list_of(is_whole),
    # File, function or class, and name.
    ("holders", "names"): _list_of(_is_argument),
    ("step_blocks", "sums"): _object_of(_is_text, is_number),
    ("step_blocks", "histogram"): _object_of(str.isdecimal, is_whole),
}

# Facts of a process that are calculated with or taken apart.
META: dict[str, Check] = {
    "argv": _list_of(_is_text),
    "started_s": is_number,
    "started_at": is_number,
    "ended_s": is_number,
    "usable_cores": _is_positive,
    "cores": _is_positive,
    "memory_limit_bytes": _may_miss(is_whole),
    "memory_bytes": _may_miss(is_whole),
    "swap_total_bytes": _may_miss(is_whole),
    "open_files_limit": _may_miss(is_whole),
    "cells": _object_of(_is_text, _is_text),
    "cluster": _is_text,
    "ended_by": _facts({"type": _is_text, "message": _is_text, "file": _is_text, "line": is_whole}),
    "machine_accelerators": _list_of(_is_text),
    "cuda_visible_devices": _is_text,
    "nvidia": _facts(
        {
            "error": _is_text,
            "driver": _is_text,
            "cuda": _list_of(is_whole),
            "devices": _list_of(_is_nvidia_device),
        }
    ),
    "surroundings": _facts(
        {
            "has_driver": _is_flag,
            "has_nouveau": _is_flag,
            "device_files": is_whole,
            "closed_files": _list_of(_is_text),
            "is_wsl": _is_flag,
            "has_dxg": _is_flag,
            "is_container": _is_flag,
        }
    ),
    "tensorflow_version": _is_text,
    "tensorflow_build": _facts(
        {
            "cuda": _is_text,
            "cudnn": _is_text,
            "capabilities": _list_of(_is_text),
            "missing": _list_of(_is_text),
        }
    ),
    "tensorflow_devices": _list_of(_is_device),
    "tensorflow_visible": _list_of(_is_text),
    "imported": _facts({"kind": _is_text}),
    "tables": _object_of(_is_text, _list_of(_is_text)),
}

# What `run.json` keeps of the early verdict.
is_early_verdict: Check = _facts(
    {"at_step": is_whole, "causes": _list_of(_is_text), "claims": _list_of(_is_text)}
)

_LOG_LINE: dict[str, Check] = {
    "pattern": _is_text,
    "count": lambda value: is_whole(value) and value > 0,
    "first_s": is_number,
    "last_s": is_number,
    "text": _is_text,
    "numbers": _list_of(is_number),
}


def _is_log_line(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() >= _LOG_LINE.keys()
        and all(check(value[name]) for name, check in _LOG_LINE.items())
    )


# What `run.json` keeps of TensorFlow's log.
are_log_lines: Check = _list_of(_is_log_line)

_SILENCE: dict[str, Check] = {
    "text": _is_text,
    "step": is_whole,
    "quiet_s": is_number,
    "at_s": _may_miss(is_number),
    "moved_again_s": _may_miss(is_number),
    "cause": _may_miss(_is_text),
    "summary": _may_miss(_is_text),
    "file": _may_miss(_is_text),
    "line": _may_miss(is_whole),
    "also_file": _may_miss(_is_text),
    "also_line": _may_miss(is_whole),
    "moves": _may_miss(_is_flag),
}
# The units an `Evidence` may have.
_UNITS = ("s", "bytes", "share", "factor", "count", "per_s")


def _is_evidence(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(_is_text(value.get(name)) for name in ("what", "unit", "detail"))
        and value["unit"] in _UNITS
        and is_number(value.get("value"))
    )


def _is_silence(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(check(value.get(name)) for name, check in _SILENCE.items())
        and _may_miss(_list_of(_is_evidence))(value.get("evidence"))
    )


# What `run.json` keeps of the times that a run was quiet.
are_silences: Check = _list_of(_is_silence)
