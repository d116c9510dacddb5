"""Which accelerators the machine has, which TensorFlow sees, and which were asked for."""

import json
import os
import shutil
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import pytest

from quickfit.probes import devices
from quickfit.probes._state import Loop

from launch.sessions import clean_env, python

# What NVIDIA's library offers, for a machine with two cards.
NVML = """
#include <string.h>
typedef struct { int number; } device;
static device cards[2] = {{0}, {1}};
int nvmlInit_v2(void) { return 0; }
int nvmlInitWithFlags(unsigned int flags) { return 0; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return "an error"; }
int nvmlDeviceGetCount_v2(unsigned int *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned int index, device **found) {
    if (index > 1) return 2;
    *found = &cards[index];
    return 0;
}
int nvmlDeviceGetName(device *card, char *name, unsigned int length) {
    strncpy(name, card->number ? "NVIDIA T4" : "NVIDIA A100", length);
    return 0;
}
"""
NAMES = "from quickfit.probes import devices; print(devices._nvml_names())"


def card(sysfs, address, vendor, kind):
    folder = sysfs / "bus/pci/devices" / address
    folder.mkdir(parents=True)
    (folder / "vendor").write_text(vendor + "\n")
    (folder / "class").write_text(kind + "\n")


def test_cards_on_the_bus_are_found(tmp_path):
    card(tmp_path, "0000:65:00.0", "0x10de", "0x030200")
    card(tmp_path, "0000:01:00.0", "0x10de", "0x030000")
    card(tmp_path, "0000:03:00.0", "0x1002", "0x120000")
    card(tmp_path, "0000:04:00.0", "0x8086", "0x120000")
    assert devices.pci_accelerators(tmp_path) == [
        "NVIDIA card at 0000:01:00.0",
        "AMD card at 0000:03:00.0",
        "Intel card at 0000:04:00.0",
        "NVIDIA card at 0000:65:00.0",
    ]


@pytest.mark.parametrize(
    ("vendor", "kind", "what"),
    [
        ("0x8086", "0x030000", "graphics of a laptop"),
        ("0x1a03", "0x030000", "the display adapter of a server"),
        ("0x1234", "0x030000", "the display of a virtual machine"),
        ("0x10de", "0x040300", "the sound of a graphics card"),
        ("0x10de", "0x0c0330", "the USB port of a graphics card"),
        ("0x1af4", "0x020000", "a network card"),
    ],
)
def test_is_no_accelerator(tmp_path, vendor, kind, what):
    card(tmp_path, "0000:01:00.0", vendor, kind)
    assert devices.pci_accelerators(tmp_path) == [], what


def test_a_machine_without_a_bus_has_no_cards(tmp_path):
    assert devices.pci_accelerators(tmp_path) == []


def test_a_device_that_vanishes_or_may_not_be_read_is_passed_over(tmp_path):
    (tmp_path / "bus/pci/devices/0000:01:00.0").mkdir(parents=True)
    card(tmp_path, "0000:02:00.0", "0x10de", "0x030200")
    assert devices.pci_accelerators(tmp_path) == ["NVIDIA card at 0000:02:00.0"]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc to make a libnvidia-ml")
def test_nvidias_own_library_names_the_cards(tmp_path):
    (tmp_path / "nvml.c").write_text(NVML)
    library = tmp_path / "libnvidia-ml.so.1"
    build = ["gcc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "nvml.c")]
    subprocess.run(build, check=True)
    done = python(tmp_path, "-c", NAMES, env=clean_env(LD_LIBRARY_PATH=str(tmp_path)))
    assert done.stdout == b"['NVIDIA A100', 'NVIDIA T4']\n", done.stderr.decode()


@pytest.mark.parametrize("content", [b"", b"not a library"], ids=["empty", "damaged"])
def test_a_library_that_cannot_be_loaded_names_nothing(tmp_path, content):
    (tmp_path / "libnvidia-ml.so.1").write_bytes(content)
    done = python(tmp_path, "-c", NAMES, env=clean_env(LD_LIBRARY_PATH=str(tmp_path)))
    # A machine with the real library finds that one behind the broken one.
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.startswith(b"[")


@pytest.mark.skipif(os.path.exists("/proc/driver/nvidia"), reason="this machine has the library")
def test_without_the_library_nothing_is_named():
    assert devices._nvml_names() == []


def test_without_its_python_package_nothing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert devices._nvml_names() == []


@pytest.fixture
def tensorflow(monkeypatch):
    """Return a TensorFlow that sees one GPU."""
    gpu = SimpleNamespace(device_type="GPU", name="/physical_device:GPU:0")
    module = SimpleNamespace(
        __version__="2.99",
        config=SimpleNamespace(
            list_physical_devices=lambda: [gpu], get_visible_devices=lambda: [gpu]
        ),
        sysconfig=SimpleNamespace(get_build_info=lambda: {"is_cuda_build": True}),
    )
    keras = SimpleNamespace(
        __version__="3.99", config=SimpleNamespace(backend=lambda: "tensorflow")
    )
    monkeypatch.setitem(sys.modules, "tensorflow", module)
    monkeypatch.setitem(sys.modules, "keras", keras)
    return module


def facts(state):
    return {key: json.loads(value) for key, value in state.writer.rows("meta")}


def test_nothing_is_asked_before_a_loop_has_begun(state, tensorflow):
    devices.read_once(state)
    assert facts(state) == {}


def test_all_is_asked_once_a_loop_has_begun(state, tensorflow, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    state.loops = [Loop(1, "fit", None, 0.0, 0.0, 0, {})]
    devices.read_once(state)
    written = len(state.writer.rows("meta"))
    devices.read_once(state)
    assert len(state.writer.rows("meta")) == written
    expected = {
        "tensorflow_devices": [["GPU", "/physical_device:GPU:0"]],
        "tensorflow_visible": ["/physical_device:GPU:0"],
        "tensorflow_version": "2.99",
        "tensorflow_cuda_build": True,
        "tensorflow_rocm_build": False,
        "keras_version": "3.99",
        "keras_backend": "tensorflow",
        "cuda_visible_devices": "-1",
    }
    assert expected.items() <= facts(state).items()


@pytest.fixture
def ops(state):
    """Return the module with `tf.device`, hooked."""
    module = ModuleType(devices.OPS)
    module.device_v2 = lambda device_name: f"context of {device_name}"
    devices.patches()[devices.OPS](module)
    return module


def test_a_requested_accelerator_is_kept_with_its_line(state, ops):
    for _ in range(3):
        assert ops.device_v2("/GPU:0") == "context of /GPU:0"
    line = sys._getframe().f_lineno - 1
    assert state.writer.rows("device_requests") == [("/GPU:0", __file__, line)]
    assert state.writer.sources == [__file__]


@pytest.mark.parametrize("name", ["/CPU:0", "cpu:0", None, 3, b"/GPU:0"])
def test_other_requests_are_not_kept(state, ops, name):
    ops.device_v2(name)
    assert state.writer.rows("device_requests") == []


def test_a_million_different_requests_are_not_kept(state, ops):
    for number in range(100):
        ops.device_v2(f"/gpu:{number}")
    assert len(state.writer.rows("device_requests")) == 20
