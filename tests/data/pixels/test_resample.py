"""The compiled kernel by itself: every variant of it, its errors, and the GIL."""

import importlib.util
import shutil
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

import numpy as np
import pytest

from quickfit.data import pixels
from quickfit.data.pixels import resizing

from photos import photo

SOURCE = Path(resizing.__file__).with_name("_resample.c")
INCLUDE = sysconfig.get_path("include")

needs_kernel = pytest.mark.skipif(not pixels.is_compiled(), reason="no compiler here")
needs_compiler = pytest.mark.skipif(
    shutil.which("cc") is None or not Path(INCLUDE, "Python.h").exists(), reason="no compiler here"
)


def _compiled(folder, macro):
    target = Path(folder) / "_resample.abi3.so"
    flags = ["-O1", "-shared", "-fPIC", "-Werror=implicit", f"-D{macro}", f"-I{INCLUDE}"]
    limited = "-DPy_LIMITED_API=0x030B0000"
    subprocess.run(["cc", *flags, limited, SOURCE, "-o", target, "-lm"], check=True)
    spec = importlib.util.spec_from_file_location("_resample", target)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# What runs on other processors: plain loops, and x86-64 without AVX2.
@needs_compiler
def test_where_there_is_a_compiler_the_kernel_was_built():
    assert pixels.is_compiled()  # so that nothing below is skipped there without a word


@needs_compiler
@pytest.mark.parametrize("macro", ["QUICKFIT_PORTABLE", "QUICKFIT_NO_AVX2"])
def test_every_variant_gives_the_same_pixels(tmp_path, macro):
    kernel = _compiled(tmp_path, macro)
    draw = np.random.default_rng(0)
    for height, width, new_height, new_width in draw.integers(1, 90, (60, 4)):
        image = draw.integers(0, 2, (height, width, 3), dtype=np.uint8) * 255
        for number, name in enumerate(["bilinear", "bicubic"]):
            out = np.empty((new_height, new_width, 3), np.uint8)
            kernel.resize(image, out, number)
            expected = resizing._resize_in_pillow(image, new_height, new_width, name)
            np.testing.assert_array_equal(out, expected)


def _kernel():
    return resizing._load_kernel()


@needs_kernel
@pytest.mark.parametrize(
    ("image", "out", "error", "words"),
    [
        (np.zeros((4, 4, 3), np.int8), None, TypeError, "image must hold uint8"),
        (np.zeros((4, 4, 3), np.uint16), None, TypeError, "image must hold uint8"),
        (np.zeros((4, 4), np.uint8), None, ValueError, "none of them 0"),
        (np.zeros((4, 0, 3), np.uint8), None, ValueError, "none of them 0"),
        (np.zeros((4, 8, 3), np.uint8)[:, ::2], None, ValueError, "rows of image must be without"),
        (np.zeros((4, 4, 1), np.uint8), None, ValueError, "image has 1 channels and out has 3"),
        (np.zeros((4, 4, 17), np.uint8), np.zeros((2, 2, 17), np.uint8), ValueError, "too large"),
        (b"no image", None, ValueError, "none of them 0"),
        ("no buffer", None, TypeError, "bytes-like"),
        (np.zeros((4, 4, 3), np.uint8), b"abc", BufferError, "not writable"),
    ],
)
def test_says_what_it_cannot_take(image, out, error, words):
    out = np.zeros((2, 2, 3), np.uint8) if out is None else out
    with pytest.raises(error, match=words):
        _kernel().resize(image, out, 0)


@needs_kernel
def test_says_which_filter_there_is_not():
    image = np.zeros((4, 4, 3), np.uint8)
    with pytest.raises(ValueError, match="there is no filter 3"):
        _kernel().resize(image, image, 3)


_TOO_MUCH = """
import resource
import numpy as np
from quickfit.data.pixels import resizing

kernel = resizing._load_kernel()
row = np.zeros((1, 4, 3), np.uint8)
tall = np.lib.stride_tricks.as_strided(row, (400_000_000, 4, 3), (0, 3, 1))
out = np.zeros((2, 2, 3), np.uint8)
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
try:
    kernel.resize(tall, out, 0)
except MemoryError:
    print("not enough memory, and still alive")
"""


@needs_kernel
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of memory is Linux's")
def test_too_little_memory_is_an_error_of_python():
    done = subprocess.run(
        [sys.executable, "-c", _TOO_MUCH], capture_output=True, text=True, check=True
    )
    assert done.stdout == "not enough memory, and still alive\n"


@needs_kernel
def test_other_threads_run_meanwhile():
    image, out = photo(900, 1200), np.empty((800, 1100, 3), np.uint8)
    is_seen = threading.Event()
    resize, sights = _kernel().resize, []

    def work():
        for _ in range(300):
            resize(image, out, 1)
            if is_seen.is_set():
                sights.append(True)
                return

    interval = sys.getswitchinterval()
    # Nobody is asked to give up the GIL: the other thread gets it only where it is released.
    sys.setswitchinterval(1000)
    try:
        worker = threading.Thread(target=work)
        worker.start()
        is_seen.set()
        worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert sights
