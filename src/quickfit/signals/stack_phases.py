"""Tells from a sampled stack what a script was doing before its first step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from quickfit.signals.host import Frame, package_of
from quickfit.signals.loops import Locate

IMPORTING = "<frozen importlib"
TRACING = "/polymorphic_function/tracing_compilation.py"
GRAPH = "/tensorflow/python/framework/func_graph.py"
# Samples keep this many frames of a stack.
CUT_DEPTH = 80
ADAPTERS = "/keras/src/trainers/data_adapters/"
# Files below which data is opened, listed or read.
_DATA_FILES = (
    ADAPTERS,
    "/tensorflow/python/data/",
    "/tensorflow/python/lib/io/",
    "/keras/src/datasets/",
    "/keras/src/legacy/preprocessing/",
    "/keras/src/trainers/epoch_iterator.py",
    "/keras/src/utils/file_utils.py",
    "/keras/src/utils/image_utils.py",
    "/numpy/lib/format.py",
    "/numpy/lib/_format_impl.py",
    "/numpy/lib/npyio.py",
    "/numpy/lib/_npyio_impl.py",
    "/scipy/io/",
    "/sklearn/datasets/",
)
_DATASET_UTILITY = re.compile(r"/keras/src/utils/\w*dataset\w*\.py$")
_DATA_PACKAGES = frozenset(
    [
        "pandas",
        "polars",
        "pyarrow",
        "PIL",
        "cv2",
        "imageio",
        "skimage",
        "h5py",
        "zarr",
        "lmdb",
        "librosa",
        "soundfile",
        "torchvision",
        "datasets",
        "tensorflow_datasets",
        "array_record",
        "grain",
        "openpyxl",
        "nibabel",
        "pydicom",
    ]
)
# Modules of the standard library that a script lists, unpacks or reads its data with.
_DATA_MODULES = frozenset(
    f"{name}.py"
    for name in [
        "glob",
        "pathlib",
        "fnmatch",
        "csv",
        "zipfile",
        "tarfile",
        "gzip",
        "lzma",
        "shutil",
    ]
)
_KERAS_FILES = ("/keras/src/", "/tf_keras/", "/tensorflow/python/keras/")
_MODEL_PACKAGES = frozenset(("keras_hub", "keras_cv", "keras_nlp", "transformers"))
_TRAINER_FILES = ("/trainer.py", "/engine/training.py")
_TRAINER_CALLS = {"predict": "predicting", "evaluate": "evaluating"}
# Functions of Keras that make a layer or a model, or go through one without any numbers. They also
# run in the first call of a model that is not built yet.
_BUILDING = frozenset(
    [
        "build",
        "build_wrapper",
        "build_from_config",
        "_build",
        "_maybe_build",
        "_maybe_rebuild",
        "_symbolic_build",
        "symbolic_call",
        "_keras_tensor_symbolic_call",
        "_functional_construction_call",
        "compute_output_spec",
        "compile",
        "from_config",
        "load_model",
        "load_weights",
        "clone_model",
    ]
)
_LAYER_FILES = ("/keras/src/layers/layer.py", "/engine/base_layer.py")
# Calls of C functions leave no frame; the text of the line names them.
_DATA_LINE = re.compile(
    r"\b(np|numpy|pickle|joblib|json|torch|sio)\.(load|loads|loadtxt|genfromtxt|fromfile|memmap"
    r"|loadmat)\(|\.(read_\w+|imread|imdecode|load_data|from_tensor_slices|\w+_from_directory"
    r"|decode_\w+)\(|\b(Image\.open|os\.(walk|listdir|scandir)|glob\.glob|open|h5py\.File"
    r"|load_dataset|load_data)\("
)
# As a last resort, what a function of the user's is called.
_DATA_NAME = re.compile(r"(^|_)(load|read|decode)(_|$)|(^|_)data(set|sets|frame|loader)?(_|$)")
_MODEL_NAME = re.compile(
    r"^_*(build|make|create|define|construct|get|init)_(\w+_)?(model|network|net)(_|$)"
)


class Activity(NamedTuple):
    """What a stack was about, and the user's innermost line.

    `imports`, `data`, `model` (it is built), `evaluating`, `predicting`, `calling` (of a model),
    `iterator_ends` (TensorFlow shuts the iterators of a call down that has ended), `tracing`,
    `first_batch` or `other`.
    """

    name: str
    line: Frame | None


def activity(frames: Sequence[Frame], locate: Locate) -> Activity:
    """Return what a stack, innermost frame first, was about."""
    place = next((n for n, frame in enumerate(frames) if _is_user(frame)), len(frames))
    inner, outer = frames[:place], frames[place:]
    line = outer[0] if outer else None
    if any(frame.file.startswith(IMPORTING) for frame in inner):
        return Activity("imports", line)
    if any(ADAPTERS in frame.file for frame in outer):
        # Keras asks a generator for its first batch to see what it is like.
        return Activity("first_batch", line)
    if _is_tracing(frames):
        # The function of a `Dataset.map` is traced too; that is building the data.
        return Activity("data" if any(map(_is_data, frames)) else "tracing", line)
    if is_returning(inner):
        return Activity("iterator_ends", line)
    if any(_is_keras(frame) for frame in inner):
        return Activity(_of_keras(inner, frames) or "other", line)
    return Activity(_of_library(inner) or _of_user(outer, locate) or "other", line)


def is_in_fit(frames: Sequence[Frame]) -> bool:
    """Tell whether Keras's `fit` is on a stack."""
    return any(f.function == "fit" and f.file.endswith("/trainer.py") for f in frames)


def is_returning(frames: Sequence[Frame]) -> bool:
    """Tell whether a call of Keras has ended and lets go of its iterators, which may take long."""
    return bool(frames) and frames[0].file.endswith("/keras/src/utils/traceback_utils.py")


def is_validating(frames: Sequence[Frame]) -> bool:
    """Tell whether Keras's `fit` evaluates."""
    return is_in_fit(frames) and any(_trainer_call(frame) == "evaluating" for frame in frames)


def _is_tracing(frames: Sequence[Frame]) -> bool:
    if any(frame.file.endswith(TRACING) for frame in frames):
        return True
    # A deep stack is cut before it shows who makes the graph.
    return len(frames) >= CUT_DEPTH and any(f.file.endswith(GRAPH) for f in frames)


def _is_user(frame: Frame) -> bool:
    # What a namedtuple or a dataclass generates has no file.
    return frame.is_user and not frame.file.startswith("<")


def _of_library(inner: Sequence[Frame]) -> str:
    """Return what library code other than Keras's does for the user's line."""
    if any(_is_data(frame) for frame in inner):
        return "data"
    is_model = any(package_of(frame.file) in _MODEL_PACKAGES for frame in inner)
    return "model" if is_model else ""


def _of_keras(inner: Sequence[Frame], frames: Sequence[Frame]) -> str:
    """Return what Keras does for the user's line, which may be inside a layer of the user's."""
    calls = [] if is_in_fit(inner) else [call for f in inner if (call := _trainer_call(f))]
    if calls:
        return calls[-1]
    library = _of_library(inner)
    if library == "data":
        return library
    keras = [frame for frame in frames if _is_keras(frame)]
    if any(frame.function in _BUILDING for frame in keras):
        return "model"
    if any(f.function == "__call__" and f.file.endswith(_LAYER_FILES) for f in keras):
        return "calling"
    makes = (f for f in inner if _is_keras(f) and not f.file.endswith(_TRAINER_FILES))
    if any(f.function == "__init__" or "/applications/" in f.file for f in makes):
        return "model"
    return library


def _trainer_call(frame: Frame) -> str:
    return _TRAINER_CALLS.get(frame.function, "") if frame.file.endswith(_TRAINER_FILES) else ""


def _is_data(frame: Frame) -> bool:
    file = frame.file
    if any(part in file for part in _DATA_FILES) or _DATASET_UTILITY.search(file):
        return True
    if package_of(file):
        return package_of(file) in _DATA_PACKAGES
    name = file.rpartition("/")[2]
    return name in _DATA_MODULES or (name == "os.py" and frame.function in ("walk", "_walk"))


def _is_keras(frame: Frame) -> bool:
    return any(part in frame.file for part in _KERAS_FILES)


def _of_user(outer: Sequence[Frame], locate: Locate) -> str:
    """Return what the user's own lines say they do."""
    users = [frame for frame in outer if _is_user(frame)]
    where = locate(users[0].file, users[0].line) if users else None
    if where is not None and _DATA_LINE.search(where.text):
        return "data"
    for frame in users:
        if _DATA_NAME.search(frame.function):
            return "data"
        if _MODEL_NAME.search(frame.function):
            return "model"
    return ""
