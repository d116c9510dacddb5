"""Which accelerators the machine has: the bus, and NVIDIA's own library as a real shared object."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from quickfit.machine.devices import nvml_facts, pci_accelerators

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
int nvmlSystemGetDriverVersion(char *text, unsigned int length) {
    strncpy(text, "550.54.15", length);
    return 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 12040; return 0; }
int nvmlDeviceGetCudaComputeCapability(device *card, int *major, int *minor) {
    *major = card->number ? 7 : 8;
    *minor = card->number ? 5 : 0;
    return 0;
}
typedef struct { unsigned long long total, free, used; } memory;
int nvmlDeviceGetMemoryInfo(device *card, memory *info) {
    info->total = 1000;
    return 0;
}
int nvmlDeviceGetMigMode(device *card, unsigned int *now, unsigned int *later) {
    if (card->number) return 3; /* not supported */
    *now = *later = 1;
    return 0;
}
"""
FACTS = (
    "import json; from quickfit.machine.devices import nvml_facts; print(json.dumps(nvml_facts()))"
)


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
    assert pci_accelerators(tmp_path) == [
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
    assert pci_accelerators(tmp_path) == [], what


def test_a_machine_without_a_bus_has_no_cards(tmp_path):
    assert pci_accelerators(tmp_path) == []


def test_a_device_that_vanishes_or_may_not_be_read_is_passed_over(tmp_path):
    (tmp_path / "bus/pci/devices/0000:01:00.0").mkdir(parents=True)
    card(tmp_path, "0000:02:00.0", "0x10de", "0x030200")
    assert pci_accelerators(tmp_path) == ["NVIDIA card at 0000:02:00.0"]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc to make a libnvidia-ml")
def test_nvidias_own_library_names_the_cards(tmp_path):
    (tmp_path / "nvml.c").write_text(NVML)
    library = tmp_path / "libnvidia-ml.so.1"
    build = ["gcc", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "nvml.c")]
    subprocess.run(build, check=True)
    done = python(tmp_path, "-c", FACTS, env=clean_env(LD_LIBRARY_PATH=str(tmp_path)))
    assert json.loads(done.stdout) == {
        "driver": "550.54.15",
        "cuda": [12, 4],
        "devices": [
            {"name": "NVIDIA A100", "capability": [8, 0], "is_mig": True, "memory_bytes": 1000},
            {"name": "NVIDIA T4", "capability": [7, 5], "is_mig": False, "memory_bytes": 1000},
        ],
    }


@pytest.mark.parametrize("content", [b"", b"not a library"], ids=["empty", "damaged"])
def test_a_library_that_cannot_be_loaded_names_nothing(tmp_path, content):
    (tmp_path / "libnvidia-ml.so.1").write_bytes(content)
    done = python(tmp_path, "-c", FACTS, env=clean_env(LD_LIBRARY_PATH=str(tmp_path)))
    # A machine with the real library finds that one behind the broken one.
    assert done.returncode == 0, done.stderr.decode()
    assert json.loads(done.stdout).keys() & {"error", "devices"}


@pytest.mark.skipif(os.path.exists("/proc/driver/nvidia"), reason="this machine has the library")
def test_without_the_library_nothing_is_named():
    assert set(nvml_facts()) == {"error"}


def test_without_its_python_package_nothing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert set(nvml_facts()) == {"error"}
