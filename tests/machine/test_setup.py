"""Twelve machines as trees of files: each gets the right verdict, and what to type."""

from pathlib import Path

import pytest

from quickfit.machine import devices
from quickfit.machine.devices import pci_accelerators, surroundings
from quickfit.machine.setup import Setup, State, check_setup, disk_rate

CPU = [["CPU", "/physical_device:CPU:0"]]
GPU = [*CPU, ["GPU", "/physical_device:GPU:0"]]
H100 = {"name": "NVIDIA H100", "capability": [9, 0], "is_mig": False}
CUDA = {"cuda": "12.5.1", "cudnn": "9", "capabilities": ["sm_70", "sm_89", "compute_90"]}
DRIVER = {"driver": "550.54", "cuda": [12, 4], "devices": [H100]}


@pytest.fixture
def machine(tmp_path):
    """Return a function that makes the tree of a machine with eight cores and 64 GB."""
    root = tmp_path / "root"

    def make(*, card=True, driver=True, files=1, **texts):
        tree = {
            "sys/devices/system/cpu/online": "0-7\n",
            "proc/self/status": "Cpus_allowed_list:\t0-7\n",
            "proc/self/cgroup": "0::/\n",
            "proc/meminfo": "MemTotal: 64000000 kB\nMemAvailable: 60000000 kB\n",
            "proc/version": "Linux version 6.8\n",
            "proc/mounts": "/dev/sda1 / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw,nosuid 0 0\n",
        }
        if card:
            tree["sys/bus/pci/devices/0000:01:00.0/vendor"] = "0x10de\n"
            tree["sys/bus/pci/devices/0000:01:00.0/class"] = "0x030200\n"
        if driver:
            tree["proc/driver/nvidia/version"] = "NVRM version: 550.54\n"
        tree |= {f"dev/nvidia{number}": "" for number in range(files)}
        tree |= {
            name.replace("__", "/").replace("_dot_", "."): text for name, text in texts.items()
        }
        for name, text in tree.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return root

    return make


def checks(root, *, nvidia=DRIVER, visible=None, environ=None, versions=None, **tensorflow):
    """Return the checks of a machine by topic; of several, a warning."""
    facts = {
        "machine_accelerators": pci_accelerators(root / "sys"),
        "cuda_visible_devices": visible,
        "nvidia": nvidia,
        "surroundings": surroundings(root),
    }
    seen = {
        "tensorflow_version": "2.18.0",
        "tensorflow_devices": GPU,
        "tensorflow_cuda_build": True,
    }
    seen |= {"tensorflow_build": CUDA, **tensorflow}
    setup = Setup(
        devices=facts,
        tensorflow=seen,
        versions=versions or {"tensorflow": "2.18.0", "keras": "3.6.0", "numpy": "2.0.1"},
        environ=environ or {},
        folder=root,
        root=root,
    )
    found = {}
    for check in check_setup(setup):
        if check.topic not in found or check.state == State.WARNING:
            found[check.topic] = check
    return found


def warned(found):
    return {topic for topic, check in found.items() if check.state == State.WARNING}


def test_a_machine_that_is_set_up_has_nothing_to_change(machine):
    found = checks(machine())
    assert warned(found) == set()
    assert found["GPU"].summary == "TensorFlow uses NVIDIA H100"


def test_a_machine_without_a_card_trains_on_the_cpu_and_that_is_well(machine):
    found = checks(
        machine(card=False, driver=False, files=0),
        nvidia={"error": "NVML Shared Library Not Found"},
        tensorflow_devices=CPU,
        tensorflow_cuda_build=False,
    )
    assert warned(found) == set()
    assert "on the CPU" in found["GPU"].summary


UNUSED = [
    pytest.param({}, {"tensorflow_cuda_build": False}, "CPU only", "and-cuda]==2.18.0", id="wheel"),
    pytest.param({}, {"visible": "-1"}, "hides every GPU", "env -u", id="hidden"),
    pytest.param(
        {}, {"nvidia": {**DRIVER, "cuda": [11, 4]}}, "needs CUDA 12", "525.60", id="old driver"
    ),
    pytest.param(
        {},
        {"tensorflow_build": {**CUDA, "missing": ["libcudnn.so.9"]}},
        "libcudnn.so.9",
        "and-cuda",
        id="no cuDNN",
    ),
    pytest.param(
        {"driver": False, "files": 0, "_dot_dockerenv": ""},
        {"nvidia": {"error": "NVML Shared Library Not Found"}},
        "container was started without the GPU",
        "--gpus all",
        id="container",
    ),
    pytest.param(
        {"driver": False, "files": 0, "sys__module__nouveau__x": ""},
        {"nvidia": {"error": "NVML Shared Library Not Found"}},
        "nouveau is loaded",
        "restart",
        id="nouveau",
    ),
    pytest.param(
        {"card": False, "driver": False, "proc__version": "Linux Microsoft WSL1"},
        {"nvidia": {"error": "not found"}},
        "/dev/dxg is missing",
        "wsl --update",
        id="wsl",
    ),
    pytest.param(
        {}, {"nvidia": {**DRIVER, "devices": [{**H100, "is_mig": True}]}}, "MIG", "MIG-", id="mig"
    ),
    pytest.param(
        {},
        {"nvidia": {**DRIVER, "devices": [{**H100, "capability": [5, 2]}]}},
        "older than what TensorFlow 2.18.0",
        "tensorflow<2.15",
        id="old card",
    ),
    pytest.param(
        {},
        {"nvidia": {"error": "Driver/library version mismatch"}},
        "updated while it was loaded",
        "reboot",
        id="mismatch",
    ),
]


@pytest.mark.parametrize(("tree", "facts", "reason", "advice"), UNUSED)
def test_a_card_that_is_not_used_has_its_reason(machine, tree, facts, reason, advice):
    found = checks(machine(**tree), **{"tensorflow_devices": CPU, **facts})
    assert warned(found) == {"GPU"}
    assert reason in found["GPU"].summary
    assert advice in found["GPU"].advice


def test_a_device_file_of_another_user_is_named(machine, monkeypatch):
    root = machine()
    monkeypatch.setattr(devices.os, "access", lambda *_: False)
    found = checks(root, nvidia={"error": "Insufficient Permissions"}, tensorflow_devices=CPU)
    assert "may not open /dev/nvidia0" in found["GPU"].summary


def test_an_amd_card_wants_another_build(machine):
    root = machine(driver=False, files=0)
    (root / "sys/bus/pci/devices/0000:01:00.0/vendor").write_text("0x1002\n")
    found = checks(root, nvidia={"error": "none"}, tensorflow_devices=CPU)
    assert "tensorflow-rocm" in found["GPU"].advice


def test_a_card_newer_than_the_build_compiles_its_code_first(machine):
    blackwell = {"name": "NVIDIA B200", "capability": [10, 0], "is_mig": False}
    found = checks(machine(), nvidia={**DRIVER, "devices": [blackwell]})
    assert warned(found) == {"GPU code"}
    assert "NVIDIA B200 (compute capability 10.0)" in found["GPU code"].summary


def test_a_newer_minor_version_runs_the_code_it_has(machine):
    ada = {"name": "NVIDIA L4", "capability": [9, 2], "is_mig": False}
    assert warned(checks(machine(), nvidia={**DRIVER, "devices": [ada]})) == set()


def test_a_quota_far_below_the_cores_asks_for_fewer_threads(machine):
    root = machine(sys__fs__cgroup__cpu_dot_max="200000 100000\n")
    found = checks(root)
    assert warned(found) == {"cores"}
    assert "TF_NUM_INTRAOP_THREADS=2" in found["cores"].advice
    environ = {"TF_NUM_INTRAOP_THREADS": "2"}
    assert warned(checks(root, environ=environ)) == set()


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"OMP_NUM_THREADS": "1"}, "nothing to do"),
        ({"TF_NUM_INTRAOP_THREADS": "64"}, "take turns"),
    ],
)
def test_thread_settings_far_from_the_cores_are_named(machine, environ, why):
    found = checks(machine(), environ=environ)
    assert warned(found) == {"threads"}
    assert why in found["threads"].summary


def test_memory_swap_and_shared_memory(machine):
    meminfo = (
        "MemTotal: 8000000 kB\nMemAvailable: 900000 kB\nSwapTotal: 900000 kB\nSwapFree: 0 kB\n"
    )
    mounts = "/dev/sda1 / nfs4 rw 0 0\ntmpfs /dev/shm tmpfs rw,size=65536k 0 0\n"
    found = checks(machine(proc__meminfo=meminfo, proc__mounts=mounts))
    assert warned(found) == {"memory", "swap", "/dev/shm", "data"}


@pytest.mark.parametrize(
    ("versions", "advice"),
    [
        ({"tensorflow": "2.16.1", "numpy": "2.1.0"}, "numpy<2"),
        ({"tensorflow": "2.15.0", "keras": "3.1.0"}, "keras==2.15.*"),
        ({"tensorflow": "2.18.0", "keras": "2.15.0"}, "keras>=3.3"),
        ({"tensorflow": "2.18.0", "tensorflow-cpu": "2.17.0"}, "pip uninstall"),
    ],
)
def test_versions_that_do_not_go_together(machine, versions, advice):
    found = checks(machine(), versions=versions)
    assert warned(found) == {"versions"}
    assert advice in found["versions"].advice


def test_what_cannot_be_read_is_not_known_and_no_warning(tmp_path):
    found = checks(tmp_path, tensorflow_devices=GPU)
    unknown = {topic for topic, check in found.items() if check.state == State.UNKNOWN}
    assert {"cores", "memory", "/dev/shm", "data"} <= unknown
    assert warned(found) == set()


def test_a_tensorflow_that_fails_is_a_warning_and_its_devices_are_not_known(machine):
    root = machine()
    setup = Setup({}, {"error": "ImportError: libfoo"}, {}, folder=root, root=root)
    found = {check.topic: check for check in check_setup(setup)}
    assert found["TensorFlow"].state == State.WARNING
    assert found["GPU"].state == State.UNKNOWN


def test_a_disk_is_measured_with_a_large_file_only(tmp_path):
    assert disk_rate(tmp_path) is None
    (tmp_path / "small").write_bytes(bytes(1000))
    assert disk_rate(Path(tmp_path)) is None
