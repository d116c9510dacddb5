"""Advice in one line, for the tests that show it."""

from quickfit.lab.statistics import Measured
from quickfit.tuning.advice.change_table import ChangeKind, ChangeRow, ChangeVerdict, LossChange
from quickfit.tuning.advice.result import Advice, TrainingBaseline
from quickfit.tuning.trials.settings import TrialLearned

GAIN = Measured(1.31, 1.42, 1.54, 3)
XLA = ChangeRow(
    "XLA (jit_compile)",
    ChangeKind.XLA,
    ChangeVerdict.ADVISED,
    gain=GAIN,
    cpu=0.7,
    peak_bytes=612e6,
    more_bytes=80e6,
    compile_s=3.0,
    pays_after=1240,
    loss=LossChange(2048, 2.31, 0.62, 0.61),
    setting={"jit": True},
)
SLOWER = ChangeRow(
    "8 steps per call",
    ChangeKind.STEPS,
    ChangeVerdict.SLOWER,
    gain=Measured(0.0, 0.9, float("inf"), 1),
    cpu=1.1,
    peak_bytes=500e6,
    more_bytes=-32e6,
    setting={"steps_per_execution": 8},
)
LESS = ChangeRow(
    "batch 128 (×4)",
    ChangeKind.BATCH,
    ChangeVerdict.LEARNS_LESS,
    gain=GAIN,
    reason="after 2,048 samples the loss is 1.1, and 0.61 as it is",
    setting={"batch": 128},
)
NOT_TRIED = ChangeRow(
    "mixed_bfloat16", ChangeKind.PRECISION, ChangeVerdict.NOT_TRIED, reason="this CPU has none"
)
FAILED = ChangeRow(
    "intra-op 1", ChangeKind.THREADS, ChangeVerdict.FAILED, reason="out of memory: the kernel"
)


def advice(*rows, chosen=None, **more):
    """An advice with these rows; the first one is chosen where it is advised."""
    baseline = TrainingBaseline(32, 4096, 1234, 3210.0, 0.01, 532e6, TrialLearned(2048, 2.31, 0.61))
    if chosen is None and rows and rows[0].is_advised:
        chosen = rows[0]
    more.setdefault("loss_note", "loss: before and after {} samples, on the same samples")
    return Advice("train:build", "A CPU, 2 cores, no GPU", baseline, rows, chosen, **more)
