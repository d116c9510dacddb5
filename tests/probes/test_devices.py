"""Which accelerators the machine has, which TensorFlow sees, and which were asked for."""

import json
import sys
from types import ModuleType, SimpleNamespace

import pytest

from quickfit.probes import devices
from quickfit.probes._state import Loop


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
