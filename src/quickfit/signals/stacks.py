"""Sampled stacks: which lines they show, how long each lasted, what the script was doing."""

from __future__ import annotations

import bisect
import itertools
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from quickfit.recording.reader import ProcessRecording
from quickfit.signals.loops import Locate


@dataclass(frozen=True)
class Frame:
    """One frame of a sampled stack."""

    file: str
    line: int
    function: str
    is_user: bool


@dataclass(frozen=True)
class SampledStack:
    """A stack, innermost frame first, and how often it was seen while a loop ran."""

    role: str
    frames: tuple[Frame, ...]
    seen: int


# A line that calls several functions tells more than the slowest of them if it has so many times
# its samples, and less than this share of them in one function.
MUCH_MORE, MOST_OF = 2.0, 0.8
COMPREHENSIONS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>", "<lambda>")
Place = tuple[str, int]
# The user's frames of a stack, innermost first.
Chain = tuple[Frame, ...]


def chain_of(frames: tuple[Frame, ...]) -> Chain:
    """Return the user's frames of a stack."""
    return tuple(frame for frame in frames if frame.is_user)


class Samples:
    """The stack samples of one process."""

    def __init__(self, process: ProcessRecording) -> None:
        self.process = process

    @cached_property
    def _frames(self) -> dict[int, Frame]:
        return {
            row["id"]: Frame(row["file"], row["line"], row["function"], bool(row["is_user"]))
            for row in self.process.rows("frames")
        }

    @cached_property
    def _stacks(self) -> dict[int, tuple[str, tuple[Frame, ...]]]:
        return {
            row["id"]: (
                row["role"],
                tuple(self._frames[n] for n in row["frames"] if n in self._frames),
            )
            for row in self.process.rows("stacks")
        }

    def between(
        self, begin_s: float, end_s: float, *, outside: Collection[int] = ()
    ) -> list[SampledStack]:
        """Return the stacks seen in a span of time, each with its count.

        A row stands for up to half a second before it, so the last ones come after the span.

        Args:
            begin_s: when the span begins.
            end_s: when it ends.
            outside: loops that are no part of it. After its end, nor are samples of no loop.
        """
        counts: Counter[int] = Counter()
        for row in self.process.rows("samples"):
            is_after = row["loop"] is None and row["at_s"] > end_s and bool(outside)
            if begin_s <= row["at_s"] <= end_s + 1.0 and row["loop"] not in outside:
                counts[row["stack"]] += 0 if is_after else row["seen"]
        return [
            SampledStack(*self._stacks[stack], seen)
            for stack, seen in counts.items()
            if stack in self._stacks and seen
        ]


def hottest_user_line(
    stacks: list[SampledStack], functions: Collection[str] = ()
) -> tuple[Frame, int, int] | None:
    """Return the user's line that tells most about the time, its samples, and all samples.

    That is the innermost line of the user with the most samples, in whichever module. Where its
    caller has at least twice as many, spread over several functions, the caller is the statement
    that has the time: a line that calls five slow helpers, not the slowest of them. A call of
    one function that holds everything, such as `main()`, says less than the line in it.

    Args:
        stacks: the samples.
        functions: count lines of these where they are on a stack, and not what they call.
    """
    chains = []
    for stack in stacks:
        users = _statements(stack.frames)
        named = [frame for frame in users if frame.function in functions]
        users = users[users.index(named[-1]) :] if named else users
        if users:
            chains.append((users, stack.seen))
    lines: Counter[Place] = Counter()
    frames: dict[Place, Frame] = {}
    for users, seen in chains:
        lines[place_of(users[0])] += seen
        frames.setdefault(place_of(users[0]), users[0])
    if not lines:
        return None
    place = max(lines, key=lambda place: lines[place])
    frame = frames[place]
    while (caller := _telling_caller(frame, chains)) is not None:
        frame = caller
    return frame, _samples_at(frame, chains), sum(seen for _, seen in chains)


def place_of(frame: Frame) -> Place:
    """Return file and line of a frame."""
    return frame.file, frame.line


def _statements(frames: tuple[Frame, ...]) -> list[Frame]:
    """Return the user's frames of a stack, without those of comprehensions on the same line.

    Nor what has no file, such as a method that dataclasses has written, if a line in one calls it.
    """
    users = [frame for frame in frames if frame.is_user]
    users = [frame for frame in users if not frame.file.startswith("<string")] or users
    return [
        frame
        for frame, caller in itertools.zip_longest(users, users[1:])
        if caller is None
        or frame.function not in COMPREHENSIONS
        or place_of(frame) != place_of(caller)
    ]


def _telling_caller(frame: Frame, chains: list[tuple[list[Frame], int]]) -> Frame | None:
    """Return the line that calls a line, if it has much more time, in several functions."""
    callers: Counter[Frame] = Counter()
    for users, seen in chains:
        index = _index_of(frame, users)
        if index is not None and index + 1 < len(users):
            callers[users[index + 1]] += seen
    if not callers:
        return None
    caller = max(callers, key=lambda each: callers[each])
    all_seen = _samples_at(caller, chains)
    if all_seen < MUCH_MORE * _samples_at(frame, chains):
        return None
    in_function = 0
    for users, seen in chains:
        index = _index_of(caller, users)
        called = users[index - 1] if index else None
        if called is not None and (called.file, called.function) == (frame.file, frame.function):
            in_function += seen
    return caller if in_function < MOST_OF * all_seen else None


def _index_of(frame: Frame, users: list[Frame]) -> int | None:
    place = place_of(frame)
    return next((n for n, each in enumerate(users) if place_of(each) == place), None)


def _samples_at(frame: Frame, chains: list[tuple[list[Frame], int]]) -> int:
    return sum(seen for users, seen in chains if _index_of(frame, users) is not None)


def package_of(file: str) -> str:
    """Return the installed package a file belongs to, or nothing."""
    for folder in ("/site-packages/", "/dist-packages/"):
        if folder in file:
            return file.split(folder, 1)[1].split("/", 1)[0].removesuffix(".py")
    return ""


# Twenty samples a second, where too few windows were seen to tell.
USUAL_S = 0.05
# A window with so many times more samples than fit into it was merged with later ones.
MERGED = 3.0


@dataclass(frozen=True)
class TimedStack:
    """A stack of the main thread, innermost frame first, with its seconds in one window."""

    frames: tuple[Frame, ...]
    loop: int | None
    seconds: float
    seen: float = 1.0


@dataclass
class _Window:
    begin_s: float
    end_s: float
    rows: list[tuple[tuple[Frame, ...], int | None, int]] = field(default_factory=list)

    @property
    def seen(self) -> int:
        return sum(seen for _, _, seen in self.rows)

    @property
    def duration_s(self) -> float:
        return self.end_s - self.begin_s


Wanted = Callable[[tuple[Frame, ...], int | None], bool]


def timed_stacks(
    process: ProcessRecording, begin_s: float, end_s: float, *, wanted: Wanted
) -> list[TimedStack]:
    """Return the main thread's stacks in a span of time; their seconds add up to it, or to none.

    Args:
        process: where they were recorded.
        begin_s: when the span begins.
        end_s: when it ends.
        wanted: whether a stack belongs to the span; asked where a window reaches beyond it.
    """
    return StackClock(process).between(begin_s, end_s, wanted=wanted)


class StackClock:
    """The main thread's stacks of one process, for many spans of time."""

    def __init__(self, process: ProcessRecording) -> None:
        known = Samples(process)._stacks
        self._windows: list[_Window] = []
        for row in process.rows("samples"):
            if not self._windows or row["at_s"] > self._windows[-1].end_s:
                earlier_s = self._windows[-1].end_s if self._windows else -math.inf
                self._windows.append(_Window(earlier_s, row["at_s"]))
            role, frames = known.get(row["stack"], ("", ()))
            if role == "main":
                self._windows[-1].rows.append((frames, row["loop"], row["seen"]))
        self._ends = [window.end_s for window in self._windows]

    def between(self, begin_s: float, end_s: float, *, wanted: Wanted) -> list[TimedStack]:
        """Return what `timed_stacks` says."""
        if end_s <= begin_s:
            return []
        first = bisect.bisect_right(self._ends, begin_s)
        last = bisect.bisect_left(self._ends, end_s) + 1
        inside = [w for w in self._windows[first:last] if w.begin_s < end_s]
        if inside and inside[0].begin_s == -math.inf:
            inside[0] = _Window(min(begin_s, inside[0].end_s), inside[0].end_s, inside[0].rows)
        usual_s = _usual_s(inside)
        merged = any(w.seen * usual_s > MERGED * w.duration_s + 1.0 for w in inside)
        found: list[TimedStack] = []
        for window in inside:
            if window.begin_s < begin_s or window.end_s > end_s:
                window = _clipped(window, begin_s, end_s, wanted)
            found += _spread(window, usual_s, gaps=not merged)
        total_s = sum(stack.seconds for stack in found)
        if total_s <= 0:
            return []
        scale = (end_s - begin_s) / total_s
        return [
            TimedStack(stack.frames, stack.loop, stack.seconds * scale, stack.seen)
            for stack in found
        ]


def _usual_s(windows: list[_Window]) -> float:
    """Return the usual time between two samples; quickfit takes fewer where they cost much."""
    full = [w.duration_s / w.seen for w in windows if w.seen >= 5]
    return statistics.median(full) if len(full) >= 3 else USUAL_S


def _clipped(window: _Window, begin_s: float, end_s: float, wanted: Wanted) -> _Window:
    rows = [row for row in window.rows if wanted(row[0], row[1])]
    return _Window(max(window.begin_s, begin_s), min(window.end_s, end_s), rows)


def _spread(window: _Window, usual_s: float, *, gaps: bool) -> list[TimedStack]:
    """Return a window's stacks with the time each had; a gap goes to the last one."""
    if not window.rows or window.duration_s <= 0:
        return []
    each_s = min(usual_s, window.duration_s / window.seen) if gaps else usual_s
    seconds = [seen * each_s for _, _, seen in window.rows]
    if gaps:
        gap_s = window.duration_s - sum(seconds)
        # Samples that come a little late are all late alike.
        if gap_s < 2 * usual_s:
            seconds = [s * window.duration_s / sum(seconds) for s in seconds]
        else:
            seconds[-1] += gap_s
    return [
        TimedStack(frames, loop, s, seen)
        for (frames, loop, seen), s in zip(window.rows, seconds, strict=True)
    ]


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
