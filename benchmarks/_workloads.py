"""One `fit` of known character under quickfit's probes; the child process of `wait_share.py`.

    python benchmarks/_workloads.py WORKLOAD RUN_FOLDER COMPUTE_THREADS

Writes a recording to RUN_FOLDER as any watched script does, and prints as JSON what the two
other methods need: the profiler's `get_next` intervals during the last steps of the `fit`, and
the times of alternating blocks with the real input and with one batch kept in memory.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BATCH = 16
IMAGES = 128
# What the network sees, whatever the size of the photographs.
SIDE = 48
PLAIN_STEPS = 110
# Long enough for several of quickfit's readings, which come twice a second.
TRACED_STEPS = 70
BLOCK_STEPS = 15
# Before a block is timed: the real input hands out what it had prepared during the block
# before, or fills its buffers again beside the block that does not need it.
SETTLE_STEPS = 6
BLOCKS = 12
# The profiler's name for one request to the iterator of the train function (TensorFlow 2.21).
GET_NEXT = "IteratorGetNextOp::DoCompute"


@dataclass(frozen=True)
class Workload:
    """How large the photographs and the network are.

    `jpeg_side` is None for an input without work. `input_per_compute` sets it anew, so that one
    batch alone takes that many times what one step alone takes.
    """

    filters: int
    jpeg_side: int | None
    input_per_compute: float | None = None


WORKLOADS = {
    "input-bound": Workload(filters=12, jpeg_side=576),
    "compute-bound": Workload(filters=32, jpeg_side=None),
    # Half more than alone: beside the decoder a step takes about that much longer itself.
    "balanced": Workload(filters=24, jpeg_side=192, input_per_compute=1.5),
}


def main(name: str, folder: Path, compute_threads: int) -> None:
    """Run one workload and print what was measured beside quickfit's recording."""
    from quickfit.probes import session

    session.start(folder, role="main")
    import keras
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(compute_threads)
    warnings.filterwarnings("ignore", category=UserWarning, module="keras")
    keras.utils.set_random_seed(0)
    workload = WORKLOADS[name]
    model = network(workload.filters)
    dataset = photographs(fitting_side(model, workload))
    window = fit(model, dataset)
    session.pause(paused=True)
    blocks = alternate(model, dataset)
    print(json.dumps({"window": window, "blocks": blocks}))


def network(filters: int) -> Any:
    """Return a compiled CNN; `filters` decides how long its step takes."""
    import keras
    from keras import layers

    model = keras.Sequential(
        [
            keras.Input((SIDE, SIDE, 3)),
            layers.Conv2D(filters, 3, activation="relu"),
            layers.Conv2D(filters, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(2 * filters, 3, activation="relu"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss=loss)
    return model


def photographs(side: int | None) -> Any:
    """Return endless batches: JPEGs decoded on one thread, or arrays where `side` is None."""
    import numpy as np
    import tensorflow as tf

    random = np.random.default_rng(0)
    labels = np.arange(IMAGES) % 10
    if side is None:
        images = random.random((IMAGES, SIDE, SIDE, 3), "float32")
        arrays = tf.data.Dataset.from_tensor_slices((images, labels))
        return arrays.repeat().batch(BATCH).prefetch(2)

    def decode(jpeg: Any, label: Any) -> tuple[Any, Any]:
        image = tf.image.resize(tf.io.decode_jpeg(jpeg, channels=3), (SIDE, SIDE))
        return image / 255.0, label

    # Photographs differ in size, so that some batches take longer than others.
    sides = random.uniform(0.6, 1.4, IMAGES) * side
    jpegs = [jpeg_of(random, max(int(one), SIDE)) for one in sides]
    files = tf.data.Dataset.from_tensor_slices((jpegs, labels)).repeat()
    return files.map(decode, num_parallel_calls=1).batch(BATCH).prefetch(2)


def jpeg_of(random: Any, side: int) -> bytes:
    """Return a JPEG with shapes and some grain, which takes as long to decode as a photograph."""
    import tensorflow as tf

    shapes = tf.image.resize(random.random((8, 8, 3)) * 220, (side, side), method="bicubic")
    image = tf.clip_by_value(shapes + random.random((side, side, 3)) * 30, 0, 255)
    encoded: bytes = tf.io.encode_jpeg(tf.cast(image, tf.uint8), quality=90).numpy()
    return encoded


def fitting_side(model: Any, workload: Workload) -> int | None:
    """Return the size of the photographs that the workload asks for on this machine."""
    side = workload.jpeg_side
    if side is None or workload.input_per_compute is None:
        return side
    dataset = photographs(side)
    batches = iter(dataset)
    cached = endless(next(batches))
    step_s = min(timed_steps(model, cached, 10) for _ in range(4))
    batch_s = min(timed_batches(batches, 10) for _ in range(4))
    # Decoding takes as long as there are pixels.
    return int(side * (workload.input_per_compute * step_s / batch_s) ** 0.5)


def timed_steps(model: Any, batches: Any, count: int) -> float:
    """Return the mean time of one step with the function that `fit` trains with."""
    model.make_train_function()
    began = time.perf_counter()
    for _ in range(count):
        logs = model.train_function(batches)
    _ = float(logs["loss"])  # waits for the last step where the device runs behind
    return (time.perf_counter() - began) / count


def timed_batches(batches: Any, count: int) -> float:
    """Return the mean time between two batches that nobody trains on."""
    for _ in range(SETTLE_STEPS):
        next(batches)
    began = time.perf_counter()
    for _ in range(count):
        next(batches)
    return (time.perf_counter() - began) / count


def endless(batch: Any) -> Any:
    """Return an iterator that gives one batch for ever."""
    import tensorflow as tf

    return iter(tf.data.Dataset.from_tensors(batch).repeat())


def fit(model: Any, dataset: Any) -> dict[str, Any]:
    """Train, with the profiler on during the last steps; return what the profiler saw."""
    import keras
    import tensorflow as tf

    clocks: dict[str, float] = {}

    class Profile(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if batch == PLAIN_STEPS - 1:
                tf.profiler.experimental.start(temp)
                clocks["begin_s"] = time.perf_counter()
            elif batch == PLAIN_STEPS + TRACED_STEPS - 1:
                clocks["end_s"] = time.perf_counter()

        def on_train_end(self, logs: Any = None) -> None:
            # Stopping takes up to half a second; here it is part of no step.
            tf.profiler.experimental.stop()

    with tempfile.TemporaryDirectory() as temp:
        steps = PLAIN_STEPS + TRACED_STEPS
        model.fit(dataset, steps_per_epoch=steps, verbose=0, callbacks=[Profile()])
        (file,) = Path(temp).rglob("*.xplane.pb")
        requests = get_next_intervals(file)
    return {**clocks, "requests": requests}


def get_next_intervals(file: Path) -> list[tuple[float, float]]:
    """Return begin and end of every request on this process's `perf_counter`, none twice."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace.FromString(file.read_bytes())
    # The profiler counts from its own start, which it notes in the system's time.
    offset_s = time.perf_counter() - time.time() + started_s(space)
    found = set()
    for plane in space.planes:
        names = {number: kind.name for number, kind in plane.event_metadata.items()}
        for line in plane.lines:
            for event in line.events:
                if names.get(event.metadata_id) == GET_NEXT:
                    begin_s = line.timestamp_ns / 1e9 + event.offset_ps / 1e12 + offset_s
                    found.add((begin_s, begin_s + event.duration_ps / 1e12))
    if not found:
        sys.exit(f"{file.name}: the profiler recorded no {GET_NEXT}; its name may have changed.")
    return sorted(found)


def started_s(space: Any) -> float:
    """Return when the profile began, in seconds of the system's clock."""
    for plane in space.planes:
        names = {number: kind.name for number, kind in plane.stat_metadata.items()}
        for stat in plane.stats:
            if names.get(stat.metadata_id) == "profile_start_time":
                return float(stat.uint64_value or stat.int64_value) / 1e9
    sys.exit("the profile does not say when it began.")


def alternate(model: Any, dataset: Any) -> dict[str, list[dict[str, float]]]:
    """Time short blocks of steps with the real input and with one batch in memory, in turn."""
    real = iter(dataset)
    batches = {"real": real, "cached": endless(next(real))}
    blocks: dict[str, list[dict[str, float]]] = {"real": [], "cached": []}
    for pair in range(BLOCKS):
        # ABBA: a machine that slows down steadily does not favour one side.
        order = ("real", "cached") if pair % 2 == 0 else ("cached", "real")
        for kind in order:
            timed_steps(model, batches[kind], SETTLE_STEPS)
            cpu_s = time.process_time()
            step_s = timed_steps(model, batches[kind], BLOCK_STEPS)
            cpu_s = (time.process_time() - cpu_s) / BLOCK_STEPS
            blocks[kind].append({"step_s": step_s, "cpu_s": cpu_s})
    return blocks


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
