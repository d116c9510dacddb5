"""Loads a Keras model from a file, without running code from it unless that is allowed."""

from __future__ import annotations

import inspect
import json
import lzma
import re
import struct
import sys
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quickfit import trust
from quickfit.data.speed import target as user_code
from quickfit.data.speed.target import load_tensorflow
from quickfit.errors import ModelError, UsageError
from quickfit.lab.child import ChildError, run_to_end

# Models are `Any`: Keras has no types of its own.

# What Keras raises for files that are not what they seem; everything else is a bug of ours.
_FAULTS = (
    *(ValueError, TypeError, KeyError, AttributeError, IndexError, OSError, RuntimeError),
    *(ImportError, EOFError, NotImplementedError, AssertionError, zipfile.BadZipFile),
    *(MemoryError, OverflowError, RecursionError),
)
# What a name scope of TensorFlow may be called, from `tensorflow/python/framework/ops.py`.
_LAYER_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")


@dataclass(frozen=True)
class LoadedModel:
    """A model from a file, and what a person should know about it."""

    model: Any
    notes: tuple[str, ...] = ()


def load_model_file(
    path: Path, *, modules: Sequence[str] = (), allows_code: bool = False
) -> LoadedModel:
    """Load a model.

    Args:
        path: a `.keras` or `.h5` file.
        modules: to import first: they define the user's own layers.
        allows_code: whether code that is stored in the file may run.

    Raises:
        ModelError: it is no model, damaged, or needs code that is not there or not allowed.
    """
    try:
        trust.check_regular(path)
    except OSError as error:
        raise ModelError(
            f"{path}: this cannot be a model file ({error.strerror}).\n"
            "Give the .keras or .h5 file that `model.save` wrote."
        ) from error
    contents = read_contents(path)
    load_tensorflow()
    _check_code(path, contents, allows_code=allows_code)
    objects = custom_objects(modules)
    _check_custom(path, contents.custom, objects, is_imported=bool(modules))
    missing = _missing_names(contents.custom_training, objects)
    model = _open_model(path, objects, compile=not missing, safe_mode=not allows_code)
    _check_names(path, model)
    return LoadedModel(model, _missing_notes(missing))


def custom_objects(modules: Sequence[str]) -> dict[str, Any]:
    """Import modules; return the classes and functions that they define, by name."""
    found: dict[str, Any] = {}
    for place in modules:
        module = user_code.call_target(f"{place}:__dict__")
        if not isinstance(module, dict):
            raise UsageError(f"--import {place}: this is no module.")
        found |= {
            name: one
            for name, one in module.items()
            if not name.startswith("_") and (inspect.isclass(one) or inspect.isfunction(one))
        }
    return found


def _open_model(path: Path, objects: dict[str, Any], *, compile: bool, safe_mode: bool) -> Any:
    import keras
    import tensorflow as tf

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that an optimizer has other variables
            return keras.saving.load_model(
                path, custom_objects=objects, compile=compile, safe_mode=safe_mode
            )
    except (*_FAULTS, tf.errors.OpError) as error:
        if compile:  # what the training needs is in the way, perhaps
            return _open_model(path, objects, compile=False, safe_mode=safe_mode)
        raise ModelError(
            f"{path}: Keras cannot load it ({type(error).__name__}: {_first_lines(error)}).\n"
            "Does keras.saving.load_model work on it, with this version of Keras"
            f" ({keras.__version__})?"
        ) from error


def _check_names(path: Path, model: Any) -> None:
    """Refuse names that TensorFlow would refuse later, in the middle of the work."""
    for layer in (model, *model._flatten_layers()):
        if not _LAYER_NAME.fullmatch(layer.name):
            raise ModelError(
                f"{path}: the name of a layer begins with a letter, a digit or a dot, and goes on"
                f" with these and `_-/>`: TensorFlow allows no others.\nReceived: {layer.name!r}\n"
                "Rename the layer where the model is built, and save it again."
            )


def _check_code(path: Path, contents: ModelContents, *, allows_code: bool) -> None:
    if not contents.lambdas or allows_code:
        return
    names = ", ".join(contents.lambdas[:5])
    raise ModelError(
        f"{path}: it holds Python code, which would run when it is loaded (Lambda layers: {names})."
        "\nIf you know where the file comes from, allow it:\n"
        f"    quickfit shrink {path} --allow-code …\n"
        "From Python: keras.saving.load_model(path, safe_mode=False), and give the model to"
        " quickfit.compression.shrink."
    )


def _check_custom(
    path: Path, names: Sequence[str], objects: dict[str, Any], *, is_imported: bool
) -> None:
    missing = _missing_names(names, objects)
    if not missing:
        return
    modules = [name.rpartition(".")[0] for name in missing if "." in name and ">" not in name]
    example = modules[0] if modules and not modules[0].startswith("keras") else "my_layers.py"
    said = "The modules that were imported do not define them." if is_imported else ""
    raise ModelError(
        f"{path}: it is made of classes or functions that are not of Keras: {', '.join(missing)}.\n"
        f"{said + chr(10) if said else ''}"
        "Name the module or file that defines them; it is imported first:\n"
        f"    quickfit shrink {path} --import {example} …"
    )


def _missing_names(names: Sequence[str], objects: dict[str, Any]) -> list[str]:
    import keras

    return [
        name
        for name in names
        if keras.saving.get_registered_object(name) is None
        and name.rpartition(">")[2].rpartition(".")[2] not in objects
    ]


def _missing_notes(missing: Sequence[str]) -> tuple[str, ...]:
    if not missing:
        return ()
    return (
        f"The model was loaded without its training settings: {', '.join(missing)} is not of"
        " Keras and was not imported (--import). The loss is taken from the kind of output.",
    )


def _first_lines(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else f"{text[:300]}…"


# JSON is `Any`: anybody may have written it.

_ZIP, _HDF5 = b"PK\x03\x04", b"\x89HDF\r\n\x1a\n"
# What the zip module raises for archives that are cut off, damaged or made up.
_ZIP_FAULTS = (
    *(zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError, OverflowError),
    *(zlib.error, lzma.LZMAError, struct.error),
)
# What Keras writes for things that are no objects of a class.
_PLAIN = {"__keras_tensor__", "__tensor__", "__numpy__", "__bytes__", "__ellipsis__", "__slice__"}
_LAMBDAS = {"Lambda", "__lambda__"}
# Parts of Keras that no layer is in; a file that names them wants something else.
_STRANGE = ("utils", "saving", "config", "export", "trainers", "callbacks", "applications")
# The largest models have a few megabytes; JSON takes up to 30 times its length in memory.
_TOO_LARGE_BYTES = 32_000_000
# A whole file takes milliseconds, the start of Python a second; of a loaded machine many more.
_CPU_S, _PATIENCE_S = 20, 120.0
_HDF5_READER = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
try:
    import resource
    resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[2]), int(sys.argv[2])))
except ImportError:
    pass
import h5py
try:
    with h5py.File(sys.argv[3], "r") as file:
        names = ("model_config", "training_config")
        texts = [file.attrs.get(name, "{}") for name in names]
        texts = [text.decode() if isinstance(text, bytes) else text for text in texts]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("its configuration is no text")
        answer = {"texts": texts if "model_config" in file.attrs else None}
except Exception as error:
    answer = {"error": str(error)[:500]}
print(json.dumps(answer))
"""


@dataclass(frozen=True)
class ModelContents:
    """What the configuration of a model names.

    Args:
        lambdas: names of layers with code in the file.
        custom: names of classes and functions that are not of Keras, in the model itself.
        custom_training: those that only its loss, metrics or optimizer need.
    """

    lambdas: tuple[str, ...]
    custom: tuple[str, ...]
    custom_training: tuple[str, ...]


def read_contents(path: Path) -> ModelContents:
    """Read what a `.keras` or `.h5` file names.

    Raises:
        ModelError: it is no model file, or damaged.
    """
    config, training = _read_configs(path)
    lambdas = dict.fromkeys(_lambda_names(config))
    return ModelContents(
        tuple(lambdas),
        tuple(dict.fromkeys(_custom_names(config))),
        tuple(dict.fromkeys((*_custom_names(training), *_lambda_names(training)))),
    )


def _read_configs(path: Path) -> tuple[Any, Any]:
    """Return the configuration of the model, and that of its training."""
    start = _first_bytes(path)
    if start.startswith(_ZIP):
        config = _in_zip(path)
        return config, {} if not isinstance(config, dict) else config.pop("compile_config", None)
    if start.startswith(_HDF5):
        return _in_hdf5(path)
    raise ModelError(_no_model(path, start))


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(64)
    except FileNotFoundError as error:
        raise ModelError(f"{path}: there is no such file.{_other_files(path)}") from error
    except IsADirectoryError as error:
        raise ModelError(_folder_error(path)) from error
    except OSError as error:
        raise ModelError(f"{path}: it cannot be read ({error.strerror}).") from error


def _in_zip(path: Path) -> Any:
    try:
        with zipfile.ZipFile(path) as archive:
            config = archive.getinfo("config.json")
            # Both are what the archive says: so much would be asked of memory at once.
            if max(config.file_size, config.compress_size) > _TOO_LARGE_BYTES:
                raise ModelError(f"{path}: its config.json is larger than any model's.")
            return json.loads(archive.read("config.json"))
    except KeyError as error:
        raise ModelError(
            f"{path}: this is a zip archive without config.json, not a Keras model."
        ) from error
    except RecursionError as error:  # it is a RuntimeError too
        raise ModelError(f"{path}: its config.json is nested too deeply.") from error
    except (*_ZIP_FAULTS, ValueError) as error:
        raise ModelError(_damaged_file_error(path, error)) from error


def _in_hdf5(path: Path) -> tuple[Any, Any]:
    texts = _hdf5_texts(path)
    if texts is None:
        raise ModelError(
            f"{path}: this file has weights only, without the model they belong to.\n"
            "Save the whole model: model.save('model.keras')"
        )
    try:
        return json.loads(texts[0]), json.loads(texts[1])
    except RecursionError as error:
        raise ModelError(f"{path}: its configuration is nested too deeply.") from error
    except ValueError as error:
        raise ModelError(_damaged_file_error(path, error)) from error


def _hdf5_texts(path: Path) -> list[str] | None:
    """Return the JSON of the model and of its training; None for a file of weights.

    HDF5 crashes on some damaged files and never comes back from others, not even for Ctrl-C
    (HDF5 1.14: an attribute whose message is cut). So another process reads the file first.
    """
    words = (json.dumps(sys.path), str(_CPU_S), str(path))
    command = [sys.executable, "-P", "-c", _HDF5_READER, *words]
    try:
        done = run_to_end(command, timeout_s=_PATIENCE_S)
        told = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
    except ChildError:
        done, told = None, {}
    if "texts" in told:
        texts: list[str] | None = told["texts"]
        return texts
    how = "HDF5 does not come to an end with it" if done is None or done.code < 0 else ""
    raise ModelError(_damaged_file_error(path, told.get("error") or how or "HDF5 cannot read it"))


def _lambda_names(config: Any) -> Iterator[str]:
    for item in _config_objects(config):
        if item["class_name"] in _LAMBDAS:
            inner = item.get("config")
            name = inner.get("name") if isinstance(inner, dict) else None
            if item["class_name"] == "Lambda" or name is None:
                yield str(name or "a lambda function")


def _custom_names(config: Any) -> Iterator[str]:
    for item in _config_objects(config):
        name = _custom_name(item)
        if name:
            yield name


def _custom_name(item: dict[str, Any]) -> str:
    """Return the name of what is not of Keras; empty for everything else."""
    module, name = item.get("module"), str(item["class_name"])
    if name in _PLAIN or name in _LAMBDAS or name.startswith("__"):
        return ""
    if name == "function":
        is_own = not str(module).startswith("keras.")
        return f"{item.get('config')}" if is_own else _strange_name(str(module), item)
    if isinstance(module, str) and (module == "keras" or module.startswith("keras.")):
        return _strange_name(module, item)
    registered = item.get("registered_name")
    if isinstance(registered, str) and ">" in registered:
        return registered
    if module is not None:
        return f"{module}.{name}"
    return "" if "registered_name" not in item and _is_of_keras(name) else name


def _strange_name(module: str, item: dict[str, Any]) -> str:
    is_strange = any(part in _STRANGE for part in module.split("."))
    return f"{module}.{item['class_name']}" if is_strange else ""


def _is_of_keras(name: str) -> bool:
    """Whether an old file, which names no modules, means a class or an operation of Keras."""
    import keras

    homes = (
        *(keras.layers, keras.models, keras.initializers, keras.regularizers, keras.constraints),
        *(keras.losses, keras.metrics, keras.optimizers, keras.dtype_policies, keras.quantizers),
        keras.random,
    )
    operation = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
    names = (name, operation)
    if name == "Functional":  # a class of Keras that has no public name
        return True
    return any(hasattr(home, name) for home in homes) or any(hasattr(keras.ops, n) for n in names)


def _config_objects(config: Any) -> Iterator[dict[str, Any]]:
    """Yield everything that would become an object, in the order of the file."""
    left = [config]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            if isinstance(one.get("class_name"), str):
                yield one
            left += reversed(one.values())
        elif isinstance(one, list):
            left += reversed(one)


def _no_model(path: Path, start: bytes) -> str:
    if not start:
        return f"{path}: the file is empty."
    if start[4:8] == b"TFL3":
        return (
            f"{path}: this is a LiteRT file, which cannot be taken apart again.\n"
            "Give the Keras model that it was made from."
        )
    kinds = {b"\x80": "a pickle", b"\x1f\x8b": "gzip data", b"\x93NUMPY": "a NumPy array"}
    found = next((kind for magic, kind in kinds.items() if start.startswith(magic)), None)
    told = f" (found: {found})" if found else ""
    return (
        f"{path}: this is not a Keras model{told}.\n"
        "Give what model.save('model.keras') has written."
    )


def _folder_error(path: Path) -> str:
    if (path / "saved_model.pb").exists():
        return (
            f"{path}: this is a SavedModel, which no longer knows its layers.\n"
            "Save the Keras model itself: model.save('model.keras')"
        )
    return f"{path}: this is a folder, not a model file.{_other_files(path / 'x')}"


def _other_files(path: Path) -> str:
    folder = path.parent
    found = sorted(one.name for one in folder.glob("*.keras"))[:5] if folder.is_dir() else []
    return f"\nModels there: {', '.join(found)}." if found else ""


def _damaged_file_error(path: Path, error: object) -> str:
    return (
        f"{path}: the file is damaged or not complete ({error}).\n"
        "Was it copied whole? Save the model again: model.save('model.keras')"
    )
