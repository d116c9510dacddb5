"""Opens a `.tflite` file: its content, its interpreter, its inputs and outputs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from quickfit.compression.quantizing.arrays import Slot, slot_of
from quickfit.compression.quantizing.quiet import quiet
from quickfit.errors import ModelError

# The interpreter is `Any`: it has no types.

# The four letters that every file of this format has after its first four bytes.
_MARK = b"TFL3"
MISSING_RUNTIME = (
    "Running a .tflite file needs the package ai-edge-litert, which is not installed.\n"
    "    pip install 'quickfit[litert]'"
)
# What Keras's export calls the outputs of a model that gives a tensor or a list of them.
_NUMBERED = re.compile(r"output_(\d+)")


def content_of(model: str | Path | bytes, label: str) -> bytes:
    """Return the bytes of a model.

    They are read, not mapped: a file that is overwritten in place would end the process.

    Raises:
        ModelError: there is no such file, it cannot be read, or it is not of this format.
    """
    content = model if isinstance(model, bytes) else _read(Path(model), label)
    if content[4:8] != _MARK:
        raise ModelError(f"{label}: not a .tflite file ({_kind(content)}).")
    return content


def runnable(content: bytes, threads: int, label: str) -> tuple[Any, bool]:
    """Return the runtime with a model loaded, and whether it does without XNNPACK.

    XNNPACK, which makes LiteRT fast, refuses some int8 files that the runtime itself can run: where
    a layer gave nothing but zeros on the samples, the scale of its values is too small for it.

    Raises:
        ModelError: see `interpreter_of`.
    """
    try:
        return interpreter_of(content, threads, label), False
    except ModelError as error:
        if "xnnpack" not in str(error).lower():
            raise
        return interpreter_of(content, threads, label, is_plain=True), True


def interpreter_of(content: bytes, threads: int, label: str, *, is_plain: bool = False) -> Any:
    """Return the runtime with a model loaded.

    Args:
        content: of the file.
        threads: that it may use.
        label: how messages name the file.
        is_plain: whether it runs without XNNPACK.

    Raises:
        ModelError: the runtime is missing, the file is damaged, or has operators it cannot run.
    """
    try:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    except ImportError as error:
        raise ModelError(MISSING_RUNTIME) from error
    kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES if is_plain else OpResolverType.AUTO
    try:
        with quiet():
            interpreter = Interpreter(
                model_content=content, num_threads=threads, experimental_op_resolver_type=kernels
            )
        is_ready = _has_known_sizes(interpreter)
    except (RuntimeError, TypeError, ValueError) as error:
        raise ModelError(_broken(label, error)) from error
    if is_ready:
        allocate(interpreter, label)
    return interpreter


def allocate(interpreter: Any, label: str) -> None:
    """Make the runtime ready for inputs of the sizes it has been told.

    Raises:
        ModelError: it has operators that the runtime cannot run.
    """
    try:
        with quiet():
            interpreter.allocate_tensors()
    except (RuntimeError, ValueError) as error:
        raise ModelError(_not_runnable(label, error)) from error


def _has_known_sizes(interpreter: Any) -> bool:
    """Tell whether nothing but the batch is open: an image of one pixel fits no convolution."""
    return not any(-1 in one["shape_signature"][1:] for one in interpreter.get_input_details())


def slots_of(interpreter: Any, label: str) -> tuple[dict[str, Slot], dict[str, Slot]]:
    """Return the inputs and outputs by name, the outputs in the order of the Keras model.

    Raises:
        ModelError: the file has several models in it.
    """
    try:
        signatures = list(interpreter.get_signature_list())
        given, results = _details(interpreter, signatures)
        inputs = {name: slot_of(name, one) for name, one in given.items()}
        outputs = {name: slot_of(name, results[name]) for name in sorted(results, key=_number)}
    except (RuntimeError, TypeError, ValueError) as error:  # numbers that lead nowhere
        raise ModelError(_broken(label, error)) from error
    if len(signatures) > 1:
        raise ModelError(
            f"{label}: it has {len(signatures)} signatures ({', '.join(signatures)}). "
            "quickfit runs files with one, as Keras exports them."
        )
    return inputs, outputs


def _details(
    interpreter: Any, signatures: list[str]
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return what the interpreter tells of inputs and outputs, by name."""
    if signatures:
        signature = interpreter.get_signature_runner(signatures[0])
        return signature.get_input_details(), signature.get_output_details()
    # Written by other tools; their tensors have names, too.
    given = {one["name"]: one for one in interpreter.get_input_details()}
    results = enumerate(interpreter.get_output_details())
    return given, {f"output_{number}": one for number, one in results}


def _number(name: str) -> tuple[int, str]:
    """Sort `output_10` after `output_2`."""
    found = _NUMBERED.fullmatch(name)
    return (int(found[1]) if found else 0, name)


def _read(path: Path, label: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelError(f"{label}: cannot be read ({error.strerror}).") from error


def _kind(content: bytes) -> str:
    if not content:
        return "it is empty"
    known = {b"PK\x03\x04": "it is a zip file, as .keras files are", b"\x89HDF": "it is HDF5"}
    return known.get(content[:4], f"it begins with {content[:8]!r}")


def _broken(label: str, error: Exception) -> str:
    if "Didn't find op for builtin" in str(error):
        return (
            f"{label}: the installed runtime does not know one of its operators "
            f"({_line(error)}).\n    pip install -U ai-edge-litert"
        )
    return (
        f"{label}: the file is damaged or not complete ({_line(error)}).\n"
        "Copy it again, or export the model again."
    )


def _not_runnable(label: str, error: Exception) -> str:
    if "Select TensorFlow op" in str(error):
        return (
            f"{label}: it has operators of TensorFlow that LiteRT does not have "
            f"({_line(error)}).\n"
            "It runs where the Flex delegate is linked in, or replace the layers that need them."
        )
    return f"{label}: the runtime cannot prepare it ({_line(error)})."


def _line(error: Exception) -> str:
    """Return the first line of an error, without the runtime's own source file."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".")[:300]
