"""Which lines of TensorFlow's log are recognised, however they arrive."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quickfit.launch.log_lines import LONGEST_LINE_BYTES, LONGEST_TEXT, NAMES, LineScanner
from quickfit.recording.shapes import are_log_lines

STAMP = "2026-03-01 10:11:12.123456: I tensorflow/core/kernels/data/shuffle_dataset_op.cc:450] "
FILL = (
    f"{STAMP}ShuffleDatasetV3:1: Filling up shuffle buffer (this may take a while): 46432 of 70000"
)
# As TensorFlow, Keras and Python word them; a few are of older versions.
LINES = {
    "shuffle-fill": (FILL, [46432.0, 70000.0]),
    "cache-not-read": (
        "W cache_dataset_ops.cc:914] The calling iterator did not fully read the dataset being"
        " cached. In order to avoid unexpected truncation of the dataset, [...]",
        [],
    ),
    "retracing": (
        "WARNING:tensorflow:5 out of the last 6 calls to <function step at 0x7f> triggered"
        " tf.function retracing. Tracing is expensive",
        [5.0, 6.0],
    ),
    "callback-slow": (
        "WARNING:tensorflow:Callback method `on_train_batch_end` is slow compared to the batch"
        " time (batch time: 0.0010s vs `on_train_batch_end` time: 0.1021s). Check your callbacks.",
        [0.001, 0.1021],
    ),
    "cudnn-kernel": (
        "WARNING:tensorflow:Layer lstm will not use cuDNN kernels since it doesn't meet the"
        " criteria.",
        [],
    ),
    "while-loop-fallback": (
        "WARNING:tensorflow:Using a while_loop for converting RngReadAndSkip cause there is no"
        " registered converter for this op.",
        [],
    ),
    "ptx-jit": (
        "W gpu_device.cc:2433] TensorFlow was not built with CUDA kernel binaries compatible with"
        " compute capability 12.0. CUDA kernels will be jit-compiled from PTX, which could take"
        " 30 minutes or longer.",
        [],
    ),
    "gpu-libraries": (
        "W gpu_device.cc:2342] Cannot dlopen some GPU libraries. Please make sure the missing"
        " libraries mentioned above are installed properly",
        [],
    ),
    "gc-allocator": (
        "I bfc_allocator.cc:296] Garbage collection: deallocate free memory regions (i.e.,"
        " allocations) so that we can re-allocate a larger region",
        [],
    ),
    "out-of-memory": (
        "W bfc_allocator.cc:484] Allocator (GPU_0_bfc) ran out of memory trying to allocate"
        " 2.50GiB (rounded to 2684354560)requested by op Conv2D",
        [],
    ),
    "pydataset-super": (
        "py_dataset_adapter.py:111: UserWarning: Your `PyDataset` class should call"
        " `super().__init__(**kwargs)` in its constructor.",
        [],
    ),
    "fork-warning": (
        "popen_fork.py:66: DeprecationWarning: This process (pid=7) is multi-threaded, use of"
        " fork() may lead to deadlocks in the child.",
        [],
    ),
    "indexed-slices": (
        "UserWarning: Converting sparse IndexedSlices to a dense Tensor with 128000000 elements."
        " This may consume a large amount of memory.",
        [128000000.0],
    ),
    "auto-shard": (
        "W auto_shard.cc:553] AUTO sharding policy will apply DATA sharding policy as it failed to"
        " apply FILE sharding policy because of the following reason: [...]",
        [],
    ),
    "ran-out-of-data": (
        "UserWarning: Your input ran out of data; interrupting training. Make sure that",
        [],
    ),
    "slow-on-apple": (
        "WARNING:absl:At this time, the v2.11+ optimizer `tf.keras.optimizers.Adam` runs slowly on"
        " M1/M2 Macs, please use the legacy optimizer",
        [],
    ),
    "xla-compiled": (
        "I device_compiler.h:196] Compiled cluster using XLA!  This line is logged at most once"
        " for the lifetime of the process.",
        [],
    ),
}


def scan(*pieces):
    """Return what was seen in pieces that come one second apart."""
    seconds = itertools.count(1.0)
    scanner = LineScanner(clock=lambda: next(seconds))
    for piece in pieces:
        scanner.feed(piece)
    return scanner.facts()


def test_every_pattern_has_a_line_here():
    assert set(LINES) == set(NAMES)


@pytest.mark.parametrize("name", LINES)
def test_a_line_is_recognised(name):
    line, numbers = LINES[name]
    (seen,) = scan(f"Epoch 1\n{line}\n".encode())
    assert seen["pattern"] == name
    assert seen["numbers"] == numbers
    assert line.startswith(seen["text"])


def test_lines_are_counted_with_the_first_text_and_the_last_numbers():
    last = FILL.replace("46432", "69999")
    (seen,) = scan(f"{FILL}\n".encode(), b"other\n", f"{last}\n".encode())
    assert seen == {
        "pattern": "shuffle-fill",
        "count": 2,
        "first_s": 1.0,
        "last_s": 2.0,
        "text": FILL,
        "numbers": [69999.0, 70000.0],
    }


def test_a_line_in_pieces_is_seen_once_it_is_whole():
    line = FILL.encode()
    assert scan(*(line[i : i + 1] for i in range(len(line)))) == []
    assert scan(*(line[i : i + 1] for i in range(len(line))), b"\n")[0]["count"] == 1


def test_a_line_that_nothing_ended_is_judged_at_the_end():
    scanner = LineScanner()
    scanner.feed(FILL.encode())
    scanner.finish()
    assert scanner.facts()[0]["numbers"] == [46432.0, 70000.0]


def test_a_line_that_follows_a_progress_bar_is_seen():
    bar = "\r 45%|████▌     | 45/100 [00:01<00:01, 44.9it/s]".encode()
    (seen,) = scan(bar, bar, FILL.encode() + b"\n", bar)
    assert seen["text"].endswith("46432 of 70000")
    (seen,) = scan(bar * 2000 + FILL.encode() + b"\r" + bar)
    assert seen["count"] == 1


def test_colours_and_control_characters_are_removed_and_long_text_is_cut():
    line = f"\x1b[1;33mW\x1b[0m \x07\x1b]0;title\x07{FILL}\x00\x9b " + "ü" * 1000
    (seen,) = scan(line.encode() + b"\n")
    assert seen["text"].startswith(f"W {FILL}")
    assert seen["text"].isprintable()
    assert len(seen["text"]) == LONGEST_TEXT


def test_what_stands_far_before_it_does_not_hide_the_line():
    (seen,) = scan(b"/a/long/path" * 100 + b" Compiled cluster using XLA!\n")
    assert seen["text"] == "Compiled cluster using XLA!"


def test_megabytes_without_a_line_end_are_neither_kept_nor_seen():
    scanner = LineScanner()
    for _ in range(200):
        scanner.feed(b"x" * 65536)
    scanner.feed(FILL.encode())
    assert len(scanner._rest) <= LONGEST_LINE_BYTES
    scanner.feed(b"\n" + FILL.encode() + b"\n")
    assert scanner.facts()[0]["count"] == 1


def test_a_line_that_is_far_too_long_is_judged_by_its_beginning():
    (seen,) = scan(FILL.encode() + b" " + b"y" * 100_000, b"z" * 100_000, b"\nmore\n")
    assert seen["count"] == 1
    assert scan(b"1" * 100_000 + b" triggered tf.function retracing\n") == []


def test_ordinary_output_holds_nothing():
    assert scan(b"Epoch 1/3\n", b"loss: 0.1 of 70000\n", b"the class should call home\n") == []


@given(st.lists(st.binary() | st.sampled_from([line.encode() for line, _ in LINES.values()])))
def test_whatever_comes_gives_facts_of_the_right_shape(pieces):
    facts = scan(*pieces)
    assert are_log_lines(json.loads(json.dumps(facts)))
    assert len(facts) <= len(NAMES)
