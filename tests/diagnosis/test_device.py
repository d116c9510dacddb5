"""The device verdict: what the machine has against what TensorFlow uses."""

import pytest

from quickfit.diagnosis import diagnose_recording

from builders import SCRIPT, recording

CARD = ["NVIDIA card at 0000:01:00.0"]
GPU = [["CPU", "/physical_device:CPU:0"], ["GPU", "/physical_device:GPU:0"]]


def device(requests=(), **facts):
    made = recording(facts=facts)
    made.main.tables["device_requests"] = [
        {"device": name, "file": SCRIPT, "line": 3} for name in requests
    ]
    return diagnose_recording(made).device


def test_a_machine_without_an_accelerator_is_cpu_only():
    assert device().status == "cpu-only"
    assert "2 cores" in device().summary


def test_a_used_accelerator_is_fine():
    found = device(
        machine_accelerators=CARD,
        tensorflow_devices=GPU,
        tensorflow_visible=["/physical_device:GPU:0"],
    )
    assert found.status == "ok"


@pytest.mark.parametrize(
    ("facts", "reason", "advice"),
    [
        ({"tensorflow_cuda_build": False}, "CPU only", "tensorflow[and-cuda]==2.21.0"),
        (
            {"tensorflow_cuda_build": True, "cuda_visible_devices": "-1"},
            "CUDA_VISIBLE_DEVICES",
            "env -u",
        ),
        ({"tensorflow_cuda_build": True}, "driver or libraries", "TF_CPP_MIN_LOG_LEVEL=0"),
    ],
)
def test_an_unused_accelerator_is_named_with_the_reason_and_what_to_do(facts, reason, advice):
    found = device(machine_accelerators=CARD, **facts)
    assert found.status == "unused"
    assert any(reason in fact for fact in found.facts)
    assert advice in found.advice


def test_an_accelerator_that_the_script_hides_is_said_to_be_hidden():
    found = device(
        machine_accelerators=CARD,
        tensorflow_devices=GPU,
        tensorflow_visible=["/physical_device:CPU:0"],
    )
    assert found.status == "unused"
    assert "hides" in found.summary


def test_a_requested_accelerator_that_ran_on_the_cpu_is_told_with_its_line():
    found = device(requests=["/GPU:0"])
    assert found.status == "unused"
    assert found.facts == (f"`/GPU:0` was asked for at {SCRIPT}:3 and ran on the CPU",)


def test_compute_bound_is_never_said_before_the_device():
    diagnosis = diagnose_recording(recording(facts={"machine_accelerators": CARD}))
    assert diagnosis.verdict == "compute-bound"
    assert "not used" in diagnosis.device.summary
    assert "accelerator" in diagnosis.headline


def test_without_a_training_loop_nothing_is_claimed():
    made = recording(steps=0, facts={"tensorflow_devices": None})
    made.main.tables["loops"] = []
    assert diagnose_recording(made).device.status == "unknown"


def test_a_used_card_that_is_newer_than_the_build_is_ok_and_says_so():
    found = device(
        machine_accelerators=CARD,
        tensorflow_devices=GPU,
        tensorflow_visible=["/physical_device:GPU:0"],
        nvidia={"devices": [{"name": "NVIDIA B200", "capability": [10, 0]}]},
        tensorflow_build={"capabilities": ["sm_80", "compute_90"]},
    )
    assert found.status == "ok"
    assert "NVIDIA B200 (compute capability 10.0) is newer" in found.summary
    assert "CUDA_CACHE_MAXSIZE" in found.advice
