"""Tests of what hardware promises for 16 bits."""

import pytest

from quickfit.tuning.precision.hardware import (
    Gpu,
    Hardware,
    Outlook,
    prospect_of,
    read_cpu,
    read_hardware,
)

XEON = "flags\t\t: fpu sse2 avx512f {}\nmodel name\t: Intel(R) Xeon(R)\n"


def cpuinfo(folder, text):
    """Return a file that reads like /proc/cpuinfo."""
    file = folder / "cpuinfo"
    file.write_text(text)
    return file


def on_cpu(*flags):
    return prospect_of(Hardware(cpu_flags=frozenset(flags), cpu="a CPU"))


def on_gpus(*gpus):
    return prospect_of(Hardware(gpus=tuple(Gpu(*gpu) for gpu in gpus), cpu_flags=frozenset()))


@pytest.mark.parametrize("flag", ["amx_bf16", "avx512_bf16", "bf16", "svebf16"])
def test_a_cpu_with_units_for_bfloat16_is_a_candidate(flag):
    prospect = on_cpu("sse2", flag)
    assert prospect.policy == "mixed_bfloat16"
    assert prospect.is_candidate
    assert flag in prospect.reason


def test_a_cpu_without_units_for_16_bits_is_a_clear_no():
    prospect = on_cpu("sse2", "avx512f", "avx512_vnni")
    assert prospect.outlook is Outlook.NONE
    assert not prospect.is_candidate
    assert "this CPU has no units for 16 bits (a CPU: none of the flags amx_bf16" in prospect.reason


@pytest.mark.parametrize("flag", ["avx512_fp16", "amx_fp16", "asimdhp"])
def test_float16_on_a_cpu_is_never_a_candidate(flag):
    prospect = on_cpu(flag)
    assert not prospect.is_candidate
    assert flag in prospect.reason


def test_a_cpu_whose_flags_nobody_can_read_needs_a_measurement():
    prospect = prospect_of(Hardware(cpu_flags=None, cpu="arm64 CPU"))
    assert prospect.outlook is Outlook.UNKNOWN
    assert "cannot be read" in prospect.reason


@pytest.mark.parametrize(
    ("capability", "policy", "outlook"),
    [
        ((6, 1), "mixed_float16", Outlook.NONE),
        ((7, 0), "mixed_float16", Outlook.GOOD),
        ((7, 5), "mixed_float16", Outlook.GOOD),
        ((8, 0), "mixed_bfloat16", Outlook.GOOD),
        ((12, 0), "mixed_bfloat16", Outlook.GOOD),
        (None, "mixed_float16", Outlook.UNKNOWN),
    ],
)
def test_a_gpu_is_judged_by_its_compute_capability(capability, policy, outlook):
    prospect = on_gpus(("a GPU", capability))
    assert (prospect.policy, prospect.outlook) == (policy, outlook)
    assert "a GPU" in prospect.reason


def test_an_old_gpu_saves_memory_only():
    assert "16 bits save memory there, not time" in on_gpus(("GTX 1080", (6, 1))).reason


def test_a_gpu_without_tensor_cores_in_a_family_that_has_them_is_told_apart():
    assert "without Tensor Cores" in on_gpus(("NVIDIA GeForce GTX 1660 Ti", (7, 5))).reason
    assert "multiply in float16" in on_gpus(("Tesla T4", (7, 5))).reason


def test_a_slice_of_a_gpu_is_judged_as_the_gpu_is():
    prospect = on_gpus(("NVIDIA A100-SXM4-40GB MIG 1g.5gb", (8, 0)))
    assert prospect.policy == "mixed_bfloat16"
    assert "MIG 1g.5gb" in prospect.reason


def test_of_several_gpus_the_weakest_decides_and_is_named():
    prospect = on_gpus(("A100", (8, 0)), ("GTX 1080", (6, 1)))
    assert not prospect.is_candidate
    assert "GTX 1080 (compute capability 6.1), the weakest of 2 GPUs" in prospect.reason
    assert "CUDA_VISIBLE_DEVICES" in prospect.reason


def test_several_gpus_of_one_kind_need_no_choice():
    assert "weakest" not in on_gpus(("A100", (8, 0)), ("A100", (8, 0))).reason


def test_one_gpu_of_unknown_capability_leaves_it_open_for_all():
    assert on_gpus(("A100", (8, 0)), ("gfx90a", None)).outlook is Outlook.UNKNOWN


def test_a_tpu_goes_before_everything_else():
    prospect = prospect_of(Hardware(gpus=(Gpu("old", (3, 5)),), tpus=8))
    assert prospect.policy == "mixed_bfloat16"
    assert "8 TPU cores" in prospect.reason


def test_the_device_is_named_as_people_know_it():
    assert Hardware(tpus=1).device == "1 TPU core"
    assert Hardware(gpus=(Gpu("T4", (7, 5)),)).device == "T4 (compute capability 7.5)"
    assert Hardware(cpu="Xeon").device == "Xeon"


def test_flags_and_name_are_read_from_the_kernel(tmp_path):
    flags, name = read_cpu(cpuinfo(tmp_path, XEON.format("amx_bf16")))
    assert "amx_bf16" in flags
    assert name == "Intel(R) Xeon(R)"


def test_the_features_of_arm_are_read(tmp_path):
    flags, _ = read_cpu(cpuinfo(tmp_path, "processor : 0\nFeatures : fp asimd asimdhp bf16\n"))
    assert {"bf16", "asimdhp"} <= flags


def test_a_flag_counts_only_where_all_cores_have_it(tmp_path):
    text = "Features : fp bf16\n\nFeatures : fp\n"
    assert read_cpu(cpuinfo(tmp_path, text))[0] == frozenset({"fp"})


@pytest.mark.parametrize("text", ["", "nothing to see\n", ":::\n\x00\x01"])
def test_what_is_no_cpuinfo_gives_no_flags(tmp_path, text):
    flags, name = read_cpu(cpuinfo(tmp_path, text))
    assert flags is None
    assert name.endswith("CPU")


def test_a_file_that_is_not_there_gives_no_flags(tmp_path):
    assert read_cpu(tmp_path / "none")[0] is None


def test_bytes_that_are_no_text_do_not_matter(tmp_path):
    file = tmp_path / "cpuinfo"
    file.write_bytes(b"flags : sse2 \xff\xfe amx_bf16\n")
    assert "amx_bf16" in read_cpu(file)[0]


@pytest.mark.loads_tf
def test_this_machine_can_be_read(tf, tmp_path):
    hardware = read_hardware(cpuinfo(tmp_path, XEON.format("avx512_bf16")))
    assert len(hardware.gpus) == len(tf.config.get_visible_devices("GPU"))
    assert "avx512_bf16" in hardware.cpu_flags
