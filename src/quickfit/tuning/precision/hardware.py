"""What this machine computes in 16 bits, and which dtype policy that makes worth a try.

prospect = prospect_of(read_hardware())
prospect.policy, prospect.is_candidate, prospect.reason
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_CPUINFO = Path("/proc/cpuinfo")
# Tensor Cores came with 7.0, and those for bfloat16 with 8.0
# (https://www.tensorflow.org/guide/mixed_precision).
_FLOAT16_FROM, _BFLOAT16_FROM = (7, 0), (8, 0)
# Units that multiply bfloat16: x86 has the first two, ARM the others. Those for float16 do not
# count: it needs loss scaling besides. Not measured on a CPU that has them.
_BFLOAT16_FLAGS = ("amx_bf16", "avx512_bf16", "bf16", "svebf16")
_FLOAT16_FLAGS = ("amx_fp16", "avx512_fp16", "fphp", "asimdhp")


@dataclass(frozen=True)
class Gpu:
    """One GPU as TensorFlow sees it; `capability` is None where it does not say."""

    name: str
    capability: tuple[int, int] | None

    def __str__(self) -> str:
        known = "unknown" if self.capability is None else "{}.{}".format(*self.capability)
        return f"{self.name} (compute capability {known})"


@dataclass(frozen=True)
class Hardware:
    """What can train here.

    Args:
        gpus: those that TensorFlow may use.
        tpus: how many.
        cpu_flags: what every core can do; None where nobody says.
        cpu: its name.
    """

    gpus: tuple[Gpu, ...] = ()
    tpus: int = 0
    cpu_flags: frozenset[str] | None = None
    cpu: str = "CPU"

    @property
    def device(self) -> str:
        """What trains: accelerators where there are any."""
        if self.tpus:
            return f"{self.tpus} TPU core{'s' * (self.tpus > 1)}"
        return ", ".join(map(str, self.gpus)) or self.cpu


class Outlook(StrEnum):
    """What the hardware alone promises."""

    GOOD = "good"
    NONE = "none"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Prospect:
    """The 16-bit policy that fits this hardware, and whether it can gain anything.

    Args:
        policy: to try, or to measure for the slowdown where nothing can be gained.
        outlook: of a gain.
        reason: the fact behind it, a sentence.
    """

    policy: str
    outlook: Outlook
    reason: str

    @property
    def is_candidate(self) -> bool:
        """Whether a measurement may come out in favour of it."""
        return self.outlook is not Outlook.NONE


def read_hardware(cpuinfo: Path = _CPUINFO) -> Hardware:
    """Return what TensorFlow and the kernel say about this machine."""
    import tensorflow as tf

    gpus = tuple(_read_gpu(one) for one in tf.config.get_visible_devices("GPU"))
    flags, name = read_cpu(cpuinfo)
    return Hardware(gpus, len(tf.config.get_visible_devices("TPU")), flags, name)


def read_cpu(cpuinfo: Path = _CPUINFO) -> tuple[frozenset[str] | None, str]:
    """Return the flags that all cores have, None where they cannot be read, and the CPU's name."""
    try:
        lines = cpuinfo.read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    pairs = [(key.strip(), value.strip()) for key, _, value in (x.partition(":") for x in lines)]
    # "Features" on ARM. A machine may have cores of two kinds, and a thread runs on any.
    cores = [frozenset(value.split()) for key, value in pairs if key in ("flags", "Features")]
    names = [value for key, value in pairs if key == "model name" and value]
    name = names[0] if names else f"{platform.machine() or 'unknown'} CPU"
    return (frozenset.intersection(*cores) if cores else None), name


def prospect_of(hardware: Hardware) -> Prospect:
    """Return which 16-bit policy fits, and whether it can gain anything here."""
    if hardware.tpus:
        reason = f"{hardware.device}: TPUs multiply in bfloat16"
        return Prospect("mixed_bfloat16", Outlook.GOOD, reason)
    if hardware.gpus:
        return _gpu_prospect(hardware.gpus)
    return _cpu_prospect(hardware)


def _gpu_prospect(gpus: tuple[Gpu, ...]) -> Prospect:
    """Judge by the weakest, since a strategy over all of them waits for it."""
    unknown = [gpu for gpu in gpus if gpu.capability is None]
    if unknown:
        reason = f"{unknown[0]}: only a measurement can tell what float16 gains on it"
        return Prospect("mixed_float16", Outlook.UNKNOWN, reason)
    weakest = min(gpus, key=lambda gpu: gpu.capability or (0, 0))
    capability = weakest.capability or (0, 0)
    which = f"{weakest}{_differing_gpus(gpus)}"
    if capability < _FLOAT16_FROM:
        reason = (
            f"{which} has no Tensor Cores (they came with 7.0): 16 bits save memory there, not time"
        )
        return Prospect("mixed_float16", Outlook.NONE, reason)
    if capability < _BFLOAT16_FROM:
        return Prospect("mixed_float16", Outlook.GOOD, f"{which}: {_turing_reason(weakest)}")
    reason = f"{which} has Tensor Cores for bfloat16, which needs no loss scaling"
    return Prospect("mixed_bfloat16", Outlook.GOOD, reason)


def _turing_reason(gpu: Gpu) -> str:
    if "GTX 16" in gpu.name:
        return "of this family without Tensor Cores, float16 may still gain from half the traffic"
    return "its Tensor Cores multiply in float16, not in bfloat16"


def _differing_gpus(gpus: tuple[Gpu, ...]) -> str:
    """Say that the GPUs are not of one kind."""
    if len({gpu.capability for gpu in gpus}) < 2:
        return ""
    return f", the weakest of {len(gpus)} GPUs (CUDA_VISIBLE_DEVICES chooses among them),"


def _cpu_prospect(hardware: Hardware) -> Prospect:
    if hardware.cpu_flags is None:
        reason = f"{hardware.cpu}: its flags cannot be read here; only a measurement can tell"
        return Prospect("mixed_bfloat16", Outlook.UNKNOWN, reason)
    found = [flag for flag in _BFLOAT16_FLAGS if flag in hardware.cpu_flags]
    if found:
        reason = f"{hardware.cpu} multiplies in bfloat16 ({', '.join(found)})"
        return Prospect("mixed_bfloat16", Outlook.GOOD, reason)
    half = [flag for flag in _FLOAT16_FLAGS if flag in hardware.cpu_flags]
    but = f"; {', '.join(half)} is for float16, which is not for training on a CPU" if half else ""
    reason = (
        f"this CPU has no units for 16 bits ({hardware.cpu}: none of the flags amx_bf16, "
        f"avx512_bf16, bf16{but})"
    )
    return Prospect("mixed_bfloat16", Outlook.NONE, reason)


def _read_gpu(device: object) -> Gpu:
    import tensorflow as tf

    details = tf.config.experimental.get_device_details(device)
    name = str(details.get("device_name") or getattr(device, "name", "GPU"))
    capability = details.get("compute_capability")
    return Gpu(name, None if capability is None else (int(capability[0]), int(capability[1])))
